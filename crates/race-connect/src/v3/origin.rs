use std::{net::IpAddr, sync::Arc};

use super::Name;

/// What a client wants to connect to: a scheme, a host and a port.
///
/// ```
/// use race_connect::v3::Origin;
///
/// let origin = Origin::https("example.com", 8443);
/// assert_eq!(origin.service_name().unwrap().as_str(), "_8443._https.example.com");
/// assert_eq!(Origin::http("example.com", 80).service_name(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The host as it was given.
    given: Arc<str>,
    host: Name,
    ip: Option<IpAddr>,
    port: u16,
    is_secure: bool,
}

impl Origin {
    /// An origin of `https` or `wss`: HTTPS records are asked for, and connections use TLS or QUIC.
    /// The host is a name or an IP address, which may be in brackets.
    #[must_use]
    pub fn https(host: &str, port: u16) -> Self {
        Self::new(host, port, true)
    }

    /// An origin whose connections begin without TLS, as those of `http`, `ws` and other protocols
    /// do. HTTPS records are not asked for: one of `http` would demand that the client connects by
    /// `https` instead (RFC 9460, section 9.5).
    #[must_use]
    pub fn http(host: &str, port: u16) -> Self {
        Self::new(host, port, false)
    }

    fn new(host: &str, port: u16, is_secure: bool) -> Self {
        let inner = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let host = inner.filter(|it| it.contains(':')).unwrap_or(host);
        let ip = host.parse().ok();
        Self {
            given: host.into(),
            host: Name::new(host),
            ip,
            port,
            is_secure,
        }
    }

    /// Returns the host, by whose name a certificate is checked.
    #[must_use]
    pub fn host(&self) -> &Name {
        &self.host
    }

    /// Returns the host as it was given, without brackets.
    pub(crate) fn given(&self) -> &str {
        &self.given
    }

    /// Returns the host as it was given, and the port, for messages.
    pub(crate) fn authority(&self) -> String {
        let (host, port) = (self.given.escape_debug(), self.port);
        match self.given.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        }
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether connections use TLS or QUIC.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Returns the address, if the host is one.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.ip
    }

    /// Returns the name whose HTTPS records describe the origin: the host, with a prefix if the
    /// port is not 443 (RFC 9460, section 9.1). `None` if they are not asked for.
    #[must_use]
    pub fn service_name(&self) -> Option<Name> {
        match (self.is_secure, self.ip, self.port) {
            (false, _, _) | (_, Some(_), _) => None,
            (true, None, 443) => Some(self.host.clone()),
            (true, None, port) => Some(Name::new(&format!("_{port}._https.{}", self.host))),
        }
    }
}
