//! The knowledge of a client of a random history.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use super::World;
use crate::scheduler::ConsumerId;
use hyper_delay_protocol::{Code, Refusal, Reply};

/// The route and the id of a task.
pub(super) type Name = (Arc<str>, Arc<str>);

/// Whether a move was refused: the task is dead, or expires before.
fn is_of_a_move(refusal: &Refusal) -> bool {
    let message = &refusal.message;
    let is_late = message.starts_with("due is ") || message.contains("schedule the task again");
    refusal.code == Code::Dead || is_late
}

/// What a client knows of a task. Requests are numbered.
#[derive(Debug, Default)]
pub(super) struct KnownTask {
    /// Schedules without a reply yet, and whether each one replaces.
    pub(super) pending: VecDeque<(u64, bool)>,
    /// The latest schedule that certainly made a revision.
    pub(super) scheduled: Option<u64>,
    /// The latest request that may have removed the task.
    pub(super) removed: Option<u64>,
    /// Whether a revision may have expired.
    pub(super) may_expire: bool,
    /// The earliest time it was scheduled for or moved to, over all revisions, in Unix milliseconds.
    pub(super) earliest: Option<u64>,
    /// Moves without a reply yet.
    pub(super) moving: usize,
    /// The revision that the latest move has moved, and when it is due, in Unix milliseconds.
    pub(super) moved: Option<(u64, u64)>,
}

impl KnownTask {
    /// Whether the task is to be delivered.
    pub(super) fn is_owed(&self) -> bool {
        self.scheduled > self.removed && !self.may_expire
    }

    pub(super) fn acknowledged(&mut self, fire_at: u64) {
        let (number, replaces) = self.pending.pop_front().expect("it was asked for");
        let earliest = self.earliest.expect("it was scheduled");
        // The time of a task that is finished is not known.
        assert!(
            fire_at >= earliest || self.removed.is_some(),
            "it is due at {fire_at}, and was scheduled for {earliest}"
        );
        // Without replacing it may be the same as one that is done.
        if replaces || self.removed.is_none() {
            self.scheduled = Some(number);
        }
    }
}

#[derive(Default)]
pub(super) struct Client {
    /// The number of the latest request.
    pub(super) number: u64,
    pub(super) consumers: Vec<ConsumerId>,
    pub(super) known: BTreeMap<Name, KnownTask>,
    /// The revisions whose ack was confirmed, or that were cancelled while no consumer had them.
    pub(super) gone: BTreeSet<u64>,
    /// Routes whose tasks a bulk operation may move at any time.
    pub(super) moving: BTreeSet<Arc<str>>,
    /// The latest wall time so far, in Unix milliseconds: what has come due stays due if the clock
    /// is set back.
    pub(super) latest: u64,
}

impl Client {
    pub(super) fn known(&mut self, route: &str, id: &str) -> &mut KnownTask {
        self.known.entry((route.into(), id.into())).or_default()
    }

    pub(super) fn hear(&mut self, world: &mut World) {
        for (_, reply) in world.replies.drain(..) {
            match reply {
                Reply::Scheduled { id, route, fire_at } => {
                    self.known(&route, &id).acknowledged(fire_at);
                }
                Reply::Error(refusal) if is_of_a_move(&refusal) => {
                    let (route, id) = (refusal.route.unwrap(), refusal.id.unwrap());
                    self.known(&route, &id).moving -= 1;
                }
                Reply::Moved { id, route, due, .. } => {
                    let may_move = self.moving.contains(&route);
                    let known = self.known(&route, &id);
                    known.moving -= 1;
                    if let Some(due) = due {
                        let seq = world.committer.moved.pop_front();
                        let seq = seq.expect("a move was committed");
                        // A later move that is on its way can bring it forward.
                        known.moved = (known.moving == 0 && !may_move).then_some((seq, due));
                    }
                }
                Reply::Error(refusal) => {
                    // One without an id is of a bulk operation.
                    if let Some(id) = refusal.id {
                        let route = refusal.route.unwrap();
                        self.known(&route, &id).pending.pop_front();
                    }
                }
                Reply::Cancelled {
                    found: true,
                    in_flight,
                    ..
                } => {
                    let seq = world
                        .committer
                        .cancelled
                        .pop_front()
                        .expect("a cancel was committed");
                    if !in_flight {
                        let mut in_flight = world.server.scheduler().consumers.in_flight();
                        let copy = in_flight.find(|(_, copy)| copy.seq == seq);
                        assert!(copy.is_none(), "{copy:?} was cancelled");
                        self.gone.insert(seq);
                    }
                }
                Reply::Acked { removed: true, .. } => {
                    let seq = world
                        .committer
                        .finished
                        .pop_front()
                        .expect("an ack was committed");
                    self.gone.insert(seq);
                }
                _ => {}
            }
        }
    }
}
