use std::{
    net::{Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use super::{Name, Protocols, Transport};

/// One HTTPS record (RFC 9460), as a resolver gives it.
///
/// ```
/// use race_connect::v3::ServiceRecord;
///
/// // HTTPS 1 . alpn=h3,h2 ipv4hint=192.0.2.1
/// let record = ServiceRecord::service(1, ".")
///     .alpn(["h3", "h2"])
///     .ipv4_hints([[192, 0, 2, 1].into()]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServiceRecord {
    pub(super) priority: u16,
    pub(super) target: Name,
    alpn: Option<Vec<Vec<u8>>>,
    has_no_default_alpn: bool,
    pub(super) port: Option<u16>,
    pub(super) ipv4_hints: Vec<Ipv4Addr>,
    pub(super) ipv6_hints: Vec<Ipv6Addr>,
    pub(super) ech: Option<Arc<[u8]>>,
    mandatory: Vec<u16>,
    others: Vec<u16>,
}

/// Keys of parameters (RFC 9460, section 14.3.2).
mod key {
    pub(super) const MANDATORY: u16 = 0;
    pub(super) const ALPN: u16 = 1;
    pub(super) const NO_DEFAULT_ALPN: u16 = 2;
    pub(super) const PORT: u16 = 3;
    pub(super) const IPV4_HINT: u16 = 4;
    pub(super) const ECH: u16 = 5;
    pub(super) const IPV6_HINT: u16 = 6;
}

/// The default set of ALPN identifiers for HTTPS records (RFC 9460, section 9).
const DEFAULT_ALPN: &[u8] = b"http/1.1";

impl ServiceRecord {
    /// A record in ServiceMode: an alternative endpoint. Smaller priorities come first; 0 would be
    /// an alias. A target of `.` is the name that was asked for.
    #[must_use]
    pub fn service(priority: u16, target: &str) -> Self {
        Self {
            priority,
            target: Name::new(target),
            alpn: None,
            has_no_default_alpn: false,
            port: None,
            ipv4_hints: Vec::new(),
            ipv6_hints: Vec::new(),
            ech: None,
            mandatory: Vec::new(),
            others: Vec::new(),
        }
    }

    /// A record in AliasMode: the service is that of another name. A target of `.` says that there
    /// is no service.
    #[must_use]
    pub fn alias(target: &str) -> Self {
        Self::service(0, target)
    }

    /// Sets the application protocols (`alpn`). `http/1.1` is added to them.
    #[must_use]
    pub fn alpn<A: Into<Vec<u8>>>(mut self, protocols: impl IntoIterator<Item = A>) -> Self {
        self.alpn = Some(protocols.into_iter().map(Into::into).collect());
        self
    }

    /// Sets `no-default-alpn`: the service does not speak `http/1.1` unless `alpn` names it.
    #[must_use]
    pub fn no_default_alpn(mut self) -> Self {
        self.has_no_default_alpn = true;
        self
    }

    /// Sets the port. Default: that of the origin.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Sets addresses that are used until the A records of the target arrive (`ipv4hint`).
    #[must_use]
    pub fn ipv4_hints(mut self, hints: impl IntoIterator<Item = Ipv4Addr>) -> Self {
        self.ipv4_hints = hints.into_iter().collect();
        self
    }

    /// Sets addresses that are used until the AAAA records of the target arrive (`ipv6hint`).
    #[must_use]
    pub fn ipv6_hints(mut self, hints: impl IntoIterator<Item = Ipv6Addr>) -> Self {
        self.ipv6_hints = hints.into_iter().collect();
        self
    }

    /// Sets the `ECHConfigList` (`ech`, RFC 9848).
    #[must_use]
    pub fn ech(mut self, configs: impl Into<Arc<[u8]>>) -> Self {
        self.ech = Some(configs.into());
        self
    }

    /// Sets the keys that a client must understand to use the record (`mandatory`).
    #[must_use]
    pub fn mandatory(mut self, keys: impl IntoIterator<Item = u16>) -> Self {
        self.mandatory = keys.into_iter().collect();
        self
    }

    /// Adds a parameter of another key. Its value is not used.
    #[must_use]
    pub fn other(mut self, key: u16) -> Self {
        self.others.push(key);
        self
    }

    /// Whether this is an alias.
    #[must_use]
    pub fn is_alias(&self) -> bool {
        self.priority == 0
    }

    /// Returns the transports over which the client can use this record; none if it cannot.
    ///
    /// It must know all mandatory keys, the record must not contradict itself, its port can be
    /// reached, and one protocol must be common (RFC 9460, sections 2.4.3, 7.1 and 8).
    pub(super) fn transports(&self, protocols: &Protocols, uses_ech: bool) -> Vec<Transport> {
        let is_known = |key: &u16| match *key {
            key::ALPN | key::NO_DEFAULT_ALPN | key::PORT | key::IPV4_HINT | key::IPV6_HINT => true,
            key::ECH => uses_ech,
            _ => false,
        };
        let is_consistent = self.mandatory.iter().all(|key| self.has(*key))
            && !(self.has_no_default_alpn && self.alpn.is_none())
            && self.port != Some(0);
        if !is_consistent || !self.mandatory.iter().all(is_known) {
            return Vec::new();
        }
        let offered = |transport| {
            protocols.of(transport).iter().any(|protocol| {
                let is_default = !self.has_no_default_alpn && protocol == DEFAULT_ALPN;
                is_default || self.alpn.iter().flatten().any(|it| it == protocol)
            })
        };
        let transports = [Transport::Quic, Transport::Tcp];
        transports.into_iter().filter(|it| offered(*it)).collect()
    }

    /// Whether the record has a parameter of this key. `mandatory` may not name itself.
    fn has(&self, key: u16) -> bool {
        match key {
            key::MANDATORY => false,
            key::ALPN => self.alpn.is_some(),
            key::NO_DEFAULT_ALPN => self.has_no_default_alpn,
            key::PORT => self.port.is_some(),
            key::IPV4_HINT => !self.ipv4_hints.is_empty(),
            key::ECH => self.ech.is_some(),
            key::IPV6_HINT => !self.ipv6_hints.is_empty(),
            other => self.others.contains(&other),
        }
    }
}
