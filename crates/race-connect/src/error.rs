use std::{error::Error, fmt, io, net::SocketAddr, time::Duration};

/// Why no connection was made.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The resolver failed, and gave no address. Its last error is the source.
    NotResolved(io::Error),
    /// The host has no addresses.
    NoAddresses,
    /// No attempt succeeded. The last failure is the source.
    Failed(Vec<(SocketAddr, io::Error)>),
    /// No connection was made before the deadline.
    Deadline {
        /// The deadline, from the begin of the resolution.
        deadline: Duration,
        /// The attempts that had failed until then.
        failed: Vec<(SocketAddr, io::Error)>,
    },
}

impl ConnectError {
    /// Returns the attempts that failed, in the order in which they did.
    #[must_use]
    pub fn failed(&self) -> &[(SocketAddr, io::Error)] {
        match self {
            Self::Failed(failed) | Self::Deadline { failed, .. } => failed,
            Self::NotResolved(_) | Self::NoAddresses => &[],
        }
    }

    fn kind(&self) -> io::ErrorKind {
        match self {
            Self::NotResolved(error) => error.kind(),
            Self::NoAddresses => io::ErrorKind::NotFound,
            Self::Deadline { .. } => io::ErrorKind::TimedOut,
            Self::Failed(failed) => {
                let last = failed.last();
                last.map_or(io::ErrorKind::NotConnected, |(_, error)| error.kind())
            }
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotResolved(error) => return write!(f, "cannot resolve the host: {error}"),
            Self::NoAddresses => return f.write_str("the host has no addresses"),
            Self::Failed(_) => f.write_str("cannot connect")?,
            Self::Deadline { deadline, .. } => write!(f, "no connection within {deadline:?}")?,
        }
        for (number, (address, error)) in self.failed().iter().enumerate() {
            let separator = if number == 0 { ": " } else { "; " };
            write!(f, "{separator}{address}: {error}")?;
        }
        Ok(())
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NotResolved(error) => Some(error),
            _ => match self.failed().last() {
                Some((_, error)) => Some(error),
                None => None,
            },
        }
    }
}

/// Keeps the kind of the last failure.
impl From<ConnectError> for io::Error {
    fn from(error: ConnectError) -> Self {
        Self::new(error.kind(), error)
    }
}
