use std::{error::Error, fmt, io, time::Duration};

use crate::v3::{Origin, Peer, Refused};

/// Why no connection was made: the reason, and every failure on the way.
///
/// Its text names the host, the addresses that failed with their errors, those that gave no answer
/// before the deadline, and the errors of the resolver; of each at most ten. The last error is the
/// source.
#[derive(Debug)]
pub struct ConnectError {
    reason: ConnectFailure,
    /// The name and the port, if they are known.
    host: Option<String>,
    failed: Vec<(Peer, io::Error)>,
    unanswered: Vec<Peer>,
    resolver: Vec<io::Error>,
}

/// The most entries of a list in the text of an error.
const LISTED: usize = 10;

/// The reason of a [`ConnectError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectFailure {
    /// The resolver failed, and gave no address.
    NotResolved,
    /// The host has no addresses.
    NoAddresses,
    /// The HTTPS records of the host say that there is no such service.
    NoService,
    /// The query for HTTPS records failed, DNS is protected, and the client uses ECH: an attacker
    /// may have suppressed the records, so that nothing connects without them.
    HttpsQueryFailed,
    /// No attempt succeeded.
    AllFailed,
    /// No connection was made within this time, the resolution included.
    Deadline(Duration),
}

impl ConnectError {
    pub(crate) fn without_addresses(resolver: Vec<io::Error>) -> Self {
        let reason = match resolver.is_empty() {
            true => ConnectFailure::NoAddresses,
            false => ConnectFailure::NotResolved,
        };
        Self {
            reason,
            host: None,
            failed: Vec::new(),
            unanswered: Vec::new(),
            resolver,
        }
    }

    pub(crate) fn all_failed(failed: Vec<(Peer, io::Error)>, resolver: Vec<io::Error>) -> Self {
        match failed.is_empty() {
            true => Self::without_addresses(resolver),
            false => Self {
                reason: ConnectFailure::AllFailed,
                host: None,
                failed,
                unanswered: Vec::new(),
                resolver,
            },
        }
    }

    pub(crate) fn empty_host() -> Self {
        Self::without_addresses(vec![io::Error::new(
            io::ErrorKind::InvalidInput,
            "the name of the host is empty",
        )])
    }

    pub(crate) fn refused(
        refused: Refused,
        failed: Vec<(Peer, io::Error)>,
        unanswered: Vec<Peer>,
        resolver: Vec<io::Error>,
    ) -> Self {
        Self {
            reason: match refused {
                Refused::NoService => ConnectFailure::NoService,
                Refused::HttpsQueryFailed => ConnectFailure::HttpsQueryFailed,
            },
            host: None,
            failed,
            unanswered,
            resolver,
        }
    }

    pub(crate) fn deadline(
        deadline: Duration,
        failed: Vec<(Peer, io::Error)>,
        unanswered: Vec<Peer>,
        resolver: Vec<io::Error>,
    ) -> Self {
        Self {
            reason: ConnectFailure::Deadline(deadline),
            host: None,
            failed,
            unanswered,
            resolver,
        }
    }

    /// Names the host.
    pub(crate) fn to(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Names the host and the port.
    pub(crate) fn of(self, origin: &Origin) -> Self {
        self.to(origin.authority())
    }

    /// Returns the reason.
    #[must_use]
    pub fn reason(&self) -> ConnectFailure {
        self.reason
    }

    /// Returns the attempts that failed, in the order in which they did.
    #[must_use]
    pub fn failed(&self) -> &[(Peer, io::Error)] {
        &self.failed
    }

    /// Returns the attempts that failed, with their errors.
    #[must_use]
    pub fn into_failed(self) -> Vec<(Peer, io::Error)> {
        self.failed
    }

    /// Returns the peers of the attempts that were still running at the deadline, or when the HTTPS
    /// records, or the failure of their query, ended the race.
    #[must_use]
    pub fn unanswered(&self) -> &[Peer] {
        &self.unanswered
    }

    /// Returns the errors of the resolver: at most one of each family, or of each query of a
    /// [`v3::Discovery`](crate::v3::Discovery).
    #[must_use]
    pub fn resolver_errors(&self) -> &[io::Error] {
        &self.resolver
    }

    /// The last failure of an attempt, or else of the resolver.
    fn last(&self) -> Option<&io::Error> {
        let failed = self.failed.last().map(|(_, error)| error);
        failed.or(self.resolver.last())
    }

    fn kind(&self) -> io::ErrorKind {
        match self.reason {
            ConnectFailure::NoAddresses | ConnectFailure::NoService => io::ErrorKind::NotFound,
            ConnectFailure::Deadline(_) => io::ErrorKind::TimedOut,
            ConnectFailure::HttpsQueryFailed => {
                let last = self.resolver.last();
                last.map_or(io::ErrorKind::PermissionDenied, io::Error::kind)
            }
            ConnectFailure::NotResolved | ConnectFailure::AllFailed => {
                let last = self.last();
                last.map_or(io::ErrorKind::NotConnected, io::Error::kind)
            }
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.as_deref().unwrap_or("the host");
        match self.reason {
            ConnectFailure::NotResolved => write!(f, "cannot resolve {host}")?,
            ConnectFailure::NoAddresses => write!(f, "{host} has no addresses")?,
            ConnectFailure::NoService => write!(f, "{host} offers no service (HTTPS 0 .)")?,
            ConnectFailure::HttpsQueryFailed => {
                write!(f, "no connection to {host} without its HTTPS records")?;
            }
            ConnectFailure::AllFailed => write!(f, "cannot connect to {host}")?,
            ConnectFailure::Deadline(deadline) => {
                write!(f, "no connection to {host} within {deadline:?}")?;
            }
        }
        let mut list = List { f, is_empty: true };
        list.add(&self.failed, |f, (peer, error)| {
            write!(f, "{peer}: {error}")
        })?;
        list.add(&self.unanswered, |f, peer| write!(f, "{peer}: no answer"))?;
        list.add(&self.resolver, |f, error| write!(f, "resolver: {error}"))
    }
}

/// Entries after a text, separated from it and from each other.
struct List<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    is_empty: bool,
}

impl<'f> List<'_, 'f> {
    fn add<T>(
        &mut self,
        entries: &[T],
        write: impl Fn(&mut fmt::Formatter<'f>, &T) -> fmt::Result,
    ) -> fmt::Result {
        for entry in entries.iter().take(LISTED) {
            let is_first = std::mem::take(&mut self.is_empty);
            self.f.write_str(if is_first { ": " } else { "; " })?;
            write(self.f, entry)?;
        }
        match entries.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(self.f, "; and {more} more"),
        }
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self.last() {
            Some(error) => Some(error),
            None => None,
        }
    }
}

/// Keeps the kind of the last failure of an attempt, or else of the resolver. Without addresses or
/// a service the kind is `NotFound`, after the deadline `TimedOut`.
impl From<ConnectError> for io::Error {
    fn from(error: ConnectError) -> Self {
        Self::new(error.kind(), error)
    }
}
