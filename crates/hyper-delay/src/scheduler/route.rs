use std::{collections::BTreeSet, time::Duration};

use super::ConsumerId;

/// A route that has consumers.
#[derive(Debug)]
pub(super) struct Route {
    /// Never empty for long: with the last of them the route goes.
    pub(super) consumers: Vec<ConsumerId>,
    /// Whether the only one has asked to be that.
    pub(super) exclusive: bool,
    /// What is due and waits for one of them to have room, by time and sequence number.
    pub(super) ready: BTreeSet<(u64, u64)>,
    /// From where on there may be more on disk.
    pub(super) backlog: Option<(u64, u64)>,
    /// After how long a copy goes to another consumer.
    pub(super) hedge: Option<Duration>,
}

impl Route {
    /// A route that nobody had: what is on disk for it is not known.
    pub(super) const fn new(hedge: Option<Duration>) -> Self {
        Self {
            consumers: Vec::new(),
            exclusive: false,
            ready: BTreeSet::new(),
            backlog: Some((0, 0)),
            hedge,
        }
    }

    /// Something was parked there.
    pub(super) fn parked(&mut self, place: (u64, u64)) {
        self.backlog = Some(self.backlog.map_or(place, |backlog| backlog.min(place)));
    }
}
