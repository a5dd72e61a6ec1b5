//! A shard that has stopped on this node.

use super::{Event, Shard, Stopped};
use crate::{forward::wire::ToLeader, log::Answer};
use hyper_delay_engine::clock::Now;
use hyper_delay_store::{Store, StoreError};

impl<S: Store> Shard<S> {
    /// Ends the leadership. Nothing is applied any more, unless a snapshot of another node comes.
    pub(super) fn stop(&mut self, why: impl Into<Stopped>) {
        let why = why.into();
        self.withdraw();
        if self.stopped.is_some() {
            return;
        }
        if why.waits_for_snapshot() {
            self.waits(&why);
        } else if why.is_of_background() {
            // Until it is known why.
            self.election.has_store(false);
        } else {
            self.election.never_again();
        }
        self.stopped = Some(why);
    }

    /// The files of a store were read in which a write in the background has failed. If they are
    /// damaged, the shard goes on with a snapshot of another node.
    pub(crate) fn examined(&mut self, damage: Option<StoreError>) {
        let was_asked = self.stopped.as_ref().is_some_and(Stopped::is_of_background);
        match damage.filter(|_| was_asked) {
            Some(damage) => {
                let why = Stopped::Store(damage);
                self.waits(&why);
                self.stopped = Some(why);
            }
            None if was_asked => self.election.never_again(),
            None => {}
        }
    }

    /// A shard that has stopped only lets another node lead, and may wait for a snapshot.
    pub(super) fn handle_stopped(&mut self, event: Event, now: Now) {
        match event {
            Event::Answered(call, Ok(answer)) => match answer {
                Answer::Leads(led) => {
                    let again = now.after(self.setup.pause());
                    self.election.answered(call, led, again, now);
                }
                Answer::Reported(noted) => self.keeping.reported(call, noted),
                Answer::Reports(reports) => self.givers_are(call, &reports, now),
                Answer::Tail(tail) if self.reading.is_asked(call) => self.tail_is(call, tail, now),
                Answer::Tail(tail) => self.spools_tail(call, tail, now),
                _ => self.election.done(call),
            },
            Event::Answered(call, Err(_)) => {
                let again = now.after(self.setup.pause());
                self.keeping.unanswered(call, again);
                self.reading.unanswered(call, again);
                self.election.unanswered(call, again);
                self.fetching.unanswered(call, again);
            }
            Event::Entries(entries) => {
                self.reading.hears(&entries);
                self.spools(&entries);
            }
            Event::NotFetched(attempt, why) => self.not_fetched(attempt, &why, now),
            Event::Persisted(_) => self.keeping.ended_persisting(),
            Event::Leader(leader, revision) => self.election.hears(leader, revision, now),
            Event::Members(members) => self.members = members,
            Event::ClockIsOff(is_off) => self.election.clock_is_off(is_off),
            Event::HandOver => self.election.never_again(),
            Event::Settings(settings) => self.configure(*settings, now),
            Event::Peer(peer, message @ (ToLeader::Begin { .. } | ToLeader::Released { .. })) => {
                self.peer_says(peer, message, now, None);
            }
            Event::Peer(..) | Event::PeerIsGone(_) | Event::Damaged(_) => {}
            #[cfg(test)]
            Event::Input(_) => {}
        }
    }
}
