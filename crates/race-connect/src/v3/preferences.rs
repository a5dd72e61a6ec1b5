use std::{sync::Arc, time::Duration};

use super::{AddressHistory, Transport};
use crate::Family;

/// The application protocols that a client speaks, by their ALPN identifiers, best first.
///
/// ```
/// use race_connect::v3::Protocols;
///
/// let protocols = Protocols::new().quic(["h3"]); // and h2 and http/1.1 over TCP
/// ```
#[derive(Clone, Debug)]
pub struct Protocols {
    quic: Arc<[Vec<u8>]>,
    tcp: Arc<[Vec<u8>]>,
}

impl Default for Protocols {
    fn default() -> Self {
        Self::new()
    }
}

impl Protocols {
    /// `h2` and `http/1.1` over TCP, nothing over QUIC.
    #[must_use]
    pub fn new() -> Self {
        Self {
            quic: Arc::new([]),
            tcp: ["h2", "http/1.1"].map(Vec::from).into(),
        }
    }

    /// Sets the protocols over QUIC, such as `h3`. Default: none.
    #[must_use]
    pub fn quic<A: Into<Vec<u8>>>(mut self, protocols: impl IntoIterator<Item = A>) -> Self {
        self.quic = protocols.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the protocols over TLS. Default: `h2` and `http/1.1`. Without any, nothing connects over
    /// TCP to an origin of `https`.
    #[must_use]
    pub fn tcp<A: Into<Vec<u8>>>(mut self, protocols: impl IntoIterator<Item = A>) -> Self {
        self.tcp = protocols.into_iter().map(Into::into).collect();
        self
    }

    pub(super) fn of(&self, transport: Transport) -> &Arc<[Vec<u8>]> {
        match transport {
            Transport::Quic => &self.quic,
            Transport::Tcp => &self.tcp,
        }
    }
}

/// The order of the endpoints of different services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By the priorities of the services; within a service QUIC before TCP. The draft advises
    /// against separating protocols where the choice is not critical.
    #[default]
    Priority,
    /// All QUIC endpoints before all TCP endpoints; within each the priorities of the services. For
    /// clients that need what only one protocol has.
    QuicFirst,
}

/// What a client speaks and prefers.
///
/// | setting | default |
/// | --- | --- |
/// | [`protocols`](Self::protocols) | `h2` and `http/1.1` over TCP |
/// | [`order`](Self::order) | [`Order::Priority`] |
/// | [`prefer`](Self::prefer) | IPv6, or the family that the network has |
/// | [`first_family_count`](Self::first_family_count) | 1 |
/// | [`resolution_delay`](Self::resolution_delay) | 50 ms |
/// | [`ech`](Self::ech) | not used |
/// | [`tcp_first`](Self::tcp_first) | `false` |
/// | [`history`](Self::history) | none |
/// | [`seed`](Self::seed) | random |
///
/// In a [`Discovery`](super::Discovery), the settings of the race replace [`prefer`](Self::prefer),
/// [`first_family_count`](Self::first_family_count) and
/// [`resolution_delay`](Self::resolution_delay): set those of
/// [`HappyEyeballs`](crate::HappyEyeballs) instead.
#[derive(Clone, Debug)]
pub struct Preferences {
    pub(super) protocols: Protocols,
    pub(super) order: Order,
    pub(super) prefer: Option<Family>,
    pub(super) first_family_count: usize,
    pub(super) resolution_delay: Duration,
    pub(super) uses_ech: bool,
    pub(super) is_tcp_first: bool,
    pub(super) history: Option<Arc<AddressHistory>>,
    pub(super) seed: Option<u64>,
}

impl Default for Preferences {
    fn default() -> Self {
        Self::new()
    }
}

impl Preferences {
    /// Creates the default preferences, which are those of the draft.
    #[must_use]
    pub fn new() -> Self {
        Self {
            protocols: Protocols::new(),
            order: Order::Priority,
            prefer: None,
            first_family_count: 1,
            resolution_delay: Duration::from_millis(50),
            uses_ech: false,
            is_tcp_first: false,
            history: None,
            seed: None,
        }
    }

    /// Sets the protocols that the client speaks.
    #[must_use]
    pub fn protocols(mut self, protocols: Protocols) -> Self {
        self.protocols = protocols;
        self
    }

    /// Sets the order of endpoints of different services.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Sets the family that is waited for and comes first. Default: IPv6 where the network has it;
    /// then the order of RFC 6724 says which comes first.
    #[must_use]
    pub fn prefer(mut self, family: Option<Family>) -> Self {
        self.prefer = family;
        self
    }

    /// Sets the Preferred Address Family Count: how many endpoints of the first family come before
    /// one of the other. Default: 1; 0 means 1.
    #[must_use]
    pub fn first_family_count(mut self, count: usize) -> Self {
        self.first_family_count = count.max(1);
        self
    }

    /// Sets the Resolution Delay: how long to wait, from the first address or hint, for the
    /// addresses of the preferred family and for the HTTPS records. Default: 50 ms.
    #[must_use]
    pub fn resolution_delay(mut self, delay: Duration) -> Self {
        self.resolution_delay = delay;
        self
    }

    /// Says that handshakes use Encrypted Client Hello. Default: `false`; endpoints then have no
    /// configuration, and records for which `ech` is mandatory are ignored.
    ///
    /// If all services have a configuration, addresses without a service are not used (RFC 9848,
    /// section 5.1).
    #[must_use]
    pub fn ech(mut self, is_used: bool) -> Self {
        self.uses_ech = is_used;
        self
    }

    /// Puts the TCP endpoints of a service before its QUIC endpoints, for a network on which QUIC
    /// gets no answer. Default: `false`.
    #[must_use]
    pub fn tcp_first(mut self, is_first: bool) -> Self {
        self.is_tcp_first = is_first;
        self
    }

    /// Sorts addresses by what is known of them, where RFC 6724 does not. Default: none.
    #[must_use]
    pub fn history(mut self, history: Option<Arc<AddressHistory>>) -> Self {
        self.history = history;
        self
    }

    /// Sets the seed by which services of one priority are shuffled. Default: random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}
