use std::sync::Arc;

use race_wheel::Tick;

use super::ConsumerMessage;
use crate::{
    authority::Authority,
    ledger::TaskRevision,
    scheduler::{DeliveryName, SentCopy},
};
use hyper_delay_protocol::{Accept, DeliverySelector};

/// What a front knows of the place that a delivery comes from.
pub trait Origin: Clone {
    /// Whether the delivery is not to be sent any more.
    fn is_revoked(&self) -> bool;

    /// Whether its task has expired, as far as this place knows.
    fn has_expired(&self, now: Tick) -> bool;
}

/// A delivery of a server whose deliveries all come from its own scheduler.
impl Origin for () {
    fn is_revoked(&self) -> bool {
        false
    }

    /// The scheduler of the same server gives out no expired task.
    fn has_expired(&self, _: Tick) -> bool {
        false
    }
}

/// A delivery to a connection.
#[derive(Debug, Clone)]
pub struct Delivery<O> {
    /// The route of the task.
    pub route: Arc<str>,
    /// Its revision.
    pub seq: u64,
    /// When the round was due, in Unix milliseconds.
    pub due: u64,
    /// The number of the round.
    pub attempt: u32,
    /// The end of the time to answer.
    pub until: Tick,
    /// From then on nothing of it is written.
    pub write_by: Tick,
    /// Its task was acknowledged through another copy. If its time passes, it is forgotten.
    pub is_lost: bool,
    /// Where it comes from.
    pub origin: O,
}

impl Delivery<()> {
    /// Returns what the scheduler of the same server sends, with the id.
    pub(crate) fn of(copy: SentCopy) -> (Arc<str>, Self) {
        let delivery = Self {
            route: copy.route,
            seq: copy.seq,
            due: copy.due,
            attempt: copy.attempt,
            until: copy.until,
            write_by: copy.write_by,
            is_lost: false,
            origin: (),
        };
        (copy.id, delivery)
    }
}

impl<O> Delivery<O> {
    /// Returns its full name.
    #[must_use]
    pub fn name(&self, id: Arc<str>) -> DeliveryName {
        DeliveryName {
            route: self.route.clone(),
            id,
            attempt: self.attempt,
        }
    }

    /// Returns the round that it belongs to.
    #[must_use]
    pub fn revision(&self, id: Arc<str>) -> TaskRevision {
        TaskRevision {
            route: self.route.clone(),
            id,
            seq: self.seq,
            attempt: self.attempt,
        }
    }

    /// Returns the round that it belonged to.
    pub(crate) fn into_revision(self, id: Arc<str>) -> TaskRevision {
        TaskRevision {
            route: self.route,
            id,
            seq: self.seq,
            attempt: self.attempt,
        }
    }

    /// Returns the message to the connection, which accepts these compressions. It may be written while
    /// `authority` holds; `None`: always.
    #[must_use]
    pub fn into_message(
        self,
        id: Arc<str>,
        accept: Accept,
        authority: Option<Arc<Authority>>,
    ) -> ConsumerMessage {
        ConsumerMessage::Deliver {
            seq: self.seq,
            route: self.route,
            id,
            due: self.due,
            attempt: self.attempt,
            until: self.until,
            write_by: self.write_by,
            accept,
            authority,
        }
    }

    /// Whether it has the name and the round of another revision, with the same id.
    pub(super) fn is_namesake(&self, other: &Self) -> bool {
        self.seq != other.seq && self.attempt == other.attempt && self.route == other.route
    }

    /// Whether an answer that names its id names this delivery.
    pub(super) fn matches(&self, named: &DeliverySelector) -> bool {
        let route = named.route.as_ref();
        route.is_none_or(|route| *route == self.route)
            && named.attempt.is_none_or(|attempt| attempt == self.attempt)
    }
}

/// A delivery that a connection gives back.
#[derive(Debug)]
pub struct GivenBack<O> {
    /// The delivery.
    pub delivery: Delivery<O>,
    /// Whether its time had passed, as far as the front knows. It can still be acknowledged.
    pub was_late: bool,
}
