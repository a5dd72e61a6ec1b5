use std::{error::Error, fmt, io, net::SocketAddr, time::Duration};

/// Why no connection was made: the reason, and every failure on the way.
///
/// Its text names the host, each address that failed with its error, and the errors of the
/// resolver. The last error is the source.
#[derive(Debug)]
pub struct ConnectError {
    reason: ConnectFailure,
    /// The name and the port, if they are known.
    host: Option<String>,
    failed: Vec<(SocketAddr, io::Error)>,
    resolver: Vec<io::Error>,
}

/// The reason of a [`ConnectError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectFailure {
    /// The resolver failed, and gave no address.
    NotResolved,
    /// The host has no addresses.
    NoAddresses,
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
            resolver,
        }
    }

    pub(crate) fn all_failed(
        failed: Vec<(SocketAddr, io::Error)>,
        resolver: Vec<io::Error>,
    ) -> Self {
        match failed.is_empty() {
            true => Self::without_addresses(resolver),
            false => Self {
                reason: ConnectFailure::AllFailed,
                host: None,
                failed,
                resolver,
            },
        }
    }

    pub(crate) fn deadline(
        deadline: Duration,
        failed: Vec<(SocketAddr, io::Error)>,
        resolver: Vec<io::Error>,
    ) -> Self {
        Self {
            reason: ConnectFailure::Deadline(deadline),
            host: None,
            failed,
            resolver,
        }
    }

    /// Names the host.
    pub(crate) fn to(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Returns the reason.
    #[must_use]
    pub fn reason(&self) -> ConnectFailure {
        self.reason
    }

    /// Returns the attempts that failed, in the order in which they did. Attempts that ran at the
    /// deadline are not among them.
    #[must_use]
    pub fn failed(&self) -> &[(SocketAddr, io::Error)] {
        &self.failed
    }

    /// Returns the attempts that failed, with their errors.
    #[must_use]
    pub fn into_failed(self) -> Vec<(SocketAddr, io::Error)> {
        self.failed
    }

    /// Returns the errors of the resolver: at most one of each query.
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
            ConnectFailure::NoAddresses => io::ErrorKind::NotFound,
            ConnectFailure::Deadline(_) => io::ErrorKind::TimedOut,
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
            ConnectFailure::AllFailed => write!(f, "cannot connect to {host}")?,
            ConnectFailure::Deadline(deadline) => {
                write!(f, "no connection to {host} within {deadline:?}")?;
            }
        }
        let mut separator = ": ";
        for (address, error) in &self.failed {
            write!(f, "{separator}{address}: {error}")?;
            separator = "; ";
        }
        for error in &self.resolver {
            write!(f, "{separator}resolver: {error}")?;
            separator = "; ";
        }
        Ok(())
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

/// Keeps the kind of the last failure. Without addresses the kind is `NotFound`, after the deadline
/// `TimedOut`.
impl From<ConnectError> for io::Error {
    fn from(error: ConnectError) -> Self {
        Self::new(error.kind(), error)
    }
}
