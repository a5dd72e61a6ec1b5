use std::time::Duration;

use tokio::time::Instant;

use crate::settings::Settings;

/// Detects a dead connection by pings.
#[derive(Debug)]
pub(super) struct Watch {
    heard: Instant,
    pinged: bool,
    /// `None`: never.
    quiet: Option<Duration>,
    limit: Duration,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Alive,
    Ping,
    Dead,
}

impl Watch {
    pub(super) fn new(settings: &Settings, now: Instant) -> Self {
        let (quiet, limit) = (settings.keepalive, settings.keepalive_timeout);
        Self {
            heard: now,
            pinged: false,
            quiet,
            limit,
        }
    }

    /// Records that bytes arrived.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.pinged = false;
    }

    /// The time of the next look. `None`: never.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let quiet_at = self.heard.checked_add(self.quiet?)?;
        if self.pinged {
            quiet_at.checked_add(self.limit)
        } else {
            Some(quiet_at)
        }
    }

    pub(super) fn look(&mut self, now: Instant) -> Look {
        match self.deadline() {
            Some(deadline) if deadline <= now && self.pinged => Look::Dead,
            Some(deadline) if deadline <= now => {
                // If this look is late, the limit counts from here.
                self.heard = self
                    .quiet
                    .and_then(|quiet| now.checked_sub(quiet))
                    .unwrap_or(now);
                self.pinged = true;
                Look::Ping
            }
            _ => Look::Alive,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Look, Watch};
    use crate::settings::Settings;

    #[test]
    fn a_quiet_connection_is_pinged_once_and_then_dead() {
        let second = Duration::from_secs(1);
        let start = Instant::now() + second * 1000;
        let mut watch = Watch::new(&Settings::new(String::new()), start);
        let mut look = |after: u32| watch.look(start + second * after);
        assert_eq!(look(14), Look::Alive);
        assert_eq!(look(15), Look::Ping);
        assert_eq!(look(24), Look::Alive);
        assert_eq!(look(25), Look::Dead);
        watch.heard(start + second * 25);
        assert_eq!(watch.deadline(), Some(start + second * 40));
    }
}
