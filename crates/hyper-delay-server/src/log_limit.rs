//! Limits warnings that a client can cause to one line per kind and second.

use std::{
    fmt::Display,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::log_limit";

/// The shortest time between two lines of a kind.
const PERIOD: Duration = Duration::from_secs(1);

/// A kind of warning.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Warning {
    /// A host that is not allowed has connected.
    Host,
    /// All slots for connections are taken.
    Full,
    /// `accept` failed.
    Accept,
    /// A connection was closed because of its unfinished line.
    Unfinished,
    /// A request was refused because files of the store are damaged.
    Damage,
    /// A TLS handshake failed.
    Tls,
    /// A client gave a wrong token.
    Token,
    /// A payload could not be decompressed for its consumer.
    Payload,
    /// A client did not read a backup to its end.
    Backup,
    /// The content of a task cannot be read.
    Unreadable,
    /// A client has registered a route whose name ends with `*`.
    Wildcard,
}

impl Warning {
    const ALL: [Self; 11] = [
        Self::Host,
        Self::Full,
        Self::Accept,
        Self::Unfinished,
        Self::Damage,
        Self::Tls,
        Self::Token,
        Self::Payload,
        Self::Backup,
        Self::Unreadable,
        Self::Wildcard,
    ];

    /// Whether its cause is on this side.
    const fn is_error(self) -> bool {
        matches!(self, Self::Unreadable)
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Host => "refused: the host is not in allowed_hosts",
            Self::Full => "refused: too many connections are open",
            Self::Accept => "a connection could not be accepted",
            Self::Unfinished => "closed: all unfinished lines exceed max_unfinished_bytes",
            Self::Damage => "refused: files of the store are damaged",
            Self::Tls => "closed: the TLS handshake failed",
            Self::Token => "refused: a token is wrong or was revoked",
            Self::Payload => "not delivered: a payload cannot be decompressed for its consumer",
            Self::Backup => "a backup was broken off before its end",
            Self::Unreadable => "the content of a task cannot be read",
            Self::Wildcard => {
                "a route was registered whose name ends with *: it has the tasks of that name only"
            }
        }
    }
}

/// Counts warnings, and logs those that are due.
#[derive(Debug, Default)]
pub struct LogLimit {
    /// The name of the listener, unless it is the main one.
    listener: Option<&'static str>,
    states: [Mutex<WarningState>; Warning::ALL.len()],
}

impl LogLimit {
    /// Returns one for the HTTP listener: its lines have the field `listener`.
    pub(crate) fn of_http() -> Self {
        Self {
            listener: Some("http"),
            ..Self::default()
        }
    }

    /// Logs a warning, or counts it if a line of its kind was logged less than a second ago.
    pub(crate) fn warn(&self, warning: Warning, cause: impl Display) {
        if let Some(left_out) = self.with_state(warning, |state| state.admit(Instant::now())) {
            let listener = self.listener;
            match warning.is_error() {
                true => tracing::error!(
                    target: TARGET,
                    listener,
                    %cause,
                    left_out,
                    "{}",
                    warning.text(),
                ),
                false => tracing::warn!(
                    target: TARGET,
                    listener,
                    %cause,
                    left_out,
                    "{}",
                    warning.text(),
                ),
            }
        }
    }

    /// Logs the counts of kinds that have had no line for a second.
    pub(crate) fn flush(&self) {
        for warning in Warning::ALL {
            if let Some(left_out) = self.with_state(warning, |state| state.flush(Instant::now())) {
                let listener = self.listener;
                match warning.is_error() {
                    true => tracing::error!(
                        target: TARGET,
                        listener,
                        left_out,
                        "{}",
                        warning.text(),
                    ),
                    false => tracing::warn!(
                        target: TARGET,
                        listener,
                        left_out,
                        "{}",
                        warning.text(),
                    ),
                }
            }
        }
    }

    fn with_state<T>(&self, warning: Warning, work: impl FnOnce(&mut WarningState) -> T) -> T {
        let state = &self.states[warning as usize];
        work(&mut state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug, Default)]
struct WarningState {
    logged: Option<Instant>,
    left_out: u64,
}

impl WarningState {
    /// Returns how many were left out before this one, if this one is to be logged.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.is_limited(now) {
            self.left_out += 1;
            return None;
        }
        self.logged = Some(now);
        Some(std::mem::take(&mut self.left_out))
    }

    fn flush(&mut self, now: Instant) -> Option<u64> {
        if self.left_out == 0 || self.is_limited(now) {
            return None;
        }
        self.logged = Some(now);
        Some(std::mem::take(&mut self.left_out))
    }

    fn is_limited(&self, now: Instant) -> bool {
        self.logged
            .is_some_and(|at| now.duration_since(at) < PERIOD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_per_second_counts_those_left_out() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut state = WarningState::default();
        assert_eq!(state.admit(at(0)), Some(0));
        for millis in [1, 500, 999] {
            assert_eq!(state.admit(at(millis)), None);
        }
        assert_eq!(state.admit(at(1000)), Some(3));
        assert_eq!(state.admit(at(2000)), Some(0));
    }

    #[test]
    fn a_flush_logs_what_no_later_line_would() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut state = WarningState::default();
        assert_eq!(state.flush(at(0)), None);
        state.admit(at(0));
        assert_eq!(state.flush(at(5000)), None, "nothing was left out");
        state.admit(at(5001));
        state.admit(at(5002));
        assert_eq!(state.flush(at(5003)), None, "too early");
        assert_eq!(state.flush(at(6001)), Some(1));
        assert_eq!(state.flush(at(9000)), None);
    }
}
