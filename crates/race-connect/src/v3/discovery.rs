use std::{fmt, sync::Arc};

use race_core::Moment;

use super::{
    Endpoints, Lookup, Network, Origin, Preferences, QuicMemory,
    search::{Asked, Memories, Search},
};
use crate::{
    HappyEyeballs,
    plan::{Discover, Plan},
};

/// Finds the endpoints of an origin as Happy Eyeballs v3 does: with HTTPS records, over QUIC and
/// TCP, through NAT64. It takes the place of a [`Resolve`](crate::Resolve) in a connector.
///
/// Clones share the [`QuicMemory`].
///
/// | setting | default |
/// | --- | --- |
/// | [`preferences`](Self::preferences) | no QUIC, no ECH: see [`Preferences`] |
/// | [`network`](Self::network) | [`Network::detect`] at each connection |
/// | [`quic_memory`](Self::quic_memory) | one of its own |
///
/// The Resolution Delay, the count of the first family, the preferred family and the memory of
/// families are those of [`HappyEyeballs`].
pub struct Discovery<L> {
    lookup: L,
    preferences: Preferences,
    network: Option<Network>,
    quic_memory: Arc<QuicMemory>,
}

impl<L: Lookup> Discovery<L> {
    /// Creates one that asks this resolver.
    #[must_use]
    pub fn new(lookup: L) -> Self {
        Self {
            lookup,
            preferences: Preferences::new(),
            network: None,
            quic_memory: Arc::default(),
        }
    }
}

impl<L> Discovery<L> {
    /// Sets what the client speaks and prefers.
    #[must_use]
    pub fn preferences(mut self, preferences: Preferences) -> Self {
        self.preferences = preferences;
        self
    }

    /// Sets what is known of the network. Default: the system is asked at each connection.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = Some(network);
        self
    }

    /// Sets the memory of networks on which QUIC gets no answer, such as to
    /// [`forget`](QuicMemory::forget) it. Default: one of its own, which clones share.
    #[must_use]
    pub fn quic_memory(mut self, memory: Arc<QuicMemory>) -> Self {
        self.quic_memory = memory;
        self
    }

    fn endpoints(&self, settings: &HappyEyeballs, origin: Origin, now: Moment) -> Endpoints {
        let preferences = settings.adapt(self.preferences.clone(), now);
        let network = self.network.clone().unwrap_or_else(Network::detect);
        let is_blocked = self.quic_memory.is_blocked(now);
        let is_tcp_first = preferences.is_tcp_first || is_blocked;
        Endpoints::new(origin, network, preferences.tcp_first(is_tcp_first))
    }
}

impl<L: Lookup> Discover for Discovery<L> {
    fn plan<'a>(
        &'a self,
        settings: &HappyEyeballs,
        origin: &'a Origin,
        now: Moment,
    ) -> impl Plan + Send + 'a {
        let endpoints = self.endpoints(settings, origin.clone(), now);
        let ask = |query| Box::pin(self.lookup.lookup(query)) as Asked<'a>;
        let memories = Memories {
            quic: Arc::clone(&self.quic_memory),
            history: self.preferences.history.clone(),
        };
        Search::new(origin.clone(), endpoints, ask, memories)
    }
}

impl<L: Clone> Clone for Discovery<L> {
    fn clone(&self) -> Self {
        Self {
            lookup: self.lookup.clone(),
            preferences: self.preferences.clone(),
            network: self.network.clone(),
            quic_memory: Arc::clone(&self.quic_memory),
        }
    }
}

impl<L> fmt::Debug for Discovery<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut discovery = f.debug_struct("Discovery");
        discovery.field("preferences", &self.preferences);
        discovery.field("network", &self.network);
        discovery.finish_non_exhaustive()
    }
}
