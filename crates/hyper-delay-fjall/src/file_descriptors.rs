//! Divides the limit of open files (`RLIMIT_NOFILE`) between the store and the connections.

/// The server does not start below this limit.
pub const MIN_LIMIT: u64 = 64;

/// Files that are open all the time: standard streams, the log, pollers, signals, the listener,
/// locks, the journal.
const OWN: u64 = 18;

/// Files that the store opens for a flush or a compaction, and connections that are being refused.
/// Without them a background write fails, and the store accepts no more writes.
const SPARE: u64 = 28;

/// The most connections of the HTTP listener.
const HTTP: u64 = 32;

/// The shares of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    limit: u64,
    has_http: bool,
}

impl Descriptors {
    /// Divides the current soft limit of this process.
    #[must_use]
    pub fn of_process() -> Self {
        #[cfg(unix)]
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        #[cfg(not(unix))]
        let limit = None;
        Self::of(limit.unwrap_or(u64::MAX))
    }

    /// Divides a limit.
    #[must_use]
    pub const fn of(limit: u64) -> Self {
        Self {
            limit,
            has_http: false,
        }
    }

    /// Leaves files for the HTTP listener and its connections.
    #[must_use]
    pub const fn with_http(self) -> Self {
        Self {
            has_http: true,
            ..self
        }
    }

    /// Returns how many connections of the HTTP listener may be open.
    #[must_use]
    pub fn http_connections(self) -> usize {
        usize::try_from((self.limit / 16).min(HTTP)).unwrap_or(usize::MAX)
    }

    /// Returns the files of the HTTP listener.
    fn http(self) -> u64 {
        match self.has_http {
            true => 1 + self.http_connections() as u64,
            false => 0,
        }
    }

    /// Returns the limit itself.
    #[must_use]
    pub const fn limit(self) -> u64 {
        self.limit
    }

    /// Returns how many sorted files the store may keep open.
    pub(crate) fn cached_tables(self) -> usize {
        let tables = (self.limit / 8).clamp(8, 900);
        usize::try_from(tables).unwrap_or(usize::MAX)
    }

    /// Returns how many connections may be open, those in reserved slots included.
    #[must_use]
    pub fn connections(self) -> usize {
        let others = OWN + SPARE + self.cached_tables() as u64 + self.http();
        usize::try_from(self.limit.saturating_sub(others)).unwrap_or(usize::MAX)
    }

    /// Returns the limit that this number of connections needs, with the HTTP listener.
    #[must_use]
    pub fn required_limit(connections: usize) -> u64 {
        let connections = connections as u64 + 1 + HTTP;
        // The share of cached tables grows with the limit, up to its own maximum.
        let small = (connections + OWN + SPARE).saturating_mul(8).div_ceil(7);
        let large = connections + OWN + SPARE + 900;
        small.min(large).max(MIN_LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_limit_leaves_ten_connections() {
        let least = Descriptors::of(MIN_LIMIT);
        assert_eq!((least.cached_tables(), least.connections()), (8, 10));
        let least = least.with_http();
        assert_eq!((least.http_connections(), least.connections()), (4, 5));
    }

    #[test]
    fn the_shares_never_exceed_the_limit() {
        for limit in (MIN_LIMIT..20_000).chain([1 << 20, 1 << 30]) {
            for shares in [Descriptors::of(limit), Descriptors::of(limit).with_http()] {
                let shared = (shares.cached_tables() + shares.connections()) as u64;
                assert_eq!(OWN + SPARE + shared + shares.http(), limit);
            }
        }
    }

    #[test]
    fn the_required_limit_is_enough() {
        for connections in (1..12_000).chain([1_000_000]) {
            let limit = Descriptors::required_limit(connections);
            assert!(
                Descriptors::of(limit).with_http().connections() >= connections,
                "{connections}"
            );
        }
    }
}
