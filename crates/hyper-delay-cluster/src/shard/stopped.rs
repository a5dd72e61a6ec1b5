//! A shard that has stopped on this node.

use super::{Shard, ShardEvent, StopReason};
use crate::{forward::wire::ToLeader, lease::Term, log::LogAnswer};
use hyper_delay_engine::{clock::Now, scheduler::NextCall};
use hyper_delay_store::{Store, StoreError};

impl<S: Store> Shard<S> {
    /// Ends the leadership. Nothing is applied any more, unless a snapshot of another node comes.
    pub(super) fn stop(&mut self, why: impl Into<StopReason>) {
        let why = why.into();
        self.withdraw();
        if self.stopped.is_some() {
            return;
        }
        if why.waits_for_snapshot() {
            self.wait_for_snapshot(&why);
        } else if why.is_background_write() {
            // Until it is known why.
            self.election.set_has_store(false);
        } else {
            self.election.retire();
        }
        self.stopped = Some(why);
    }

    /// The files of a store were read in which a write in the background has failed. If they are
    /// damaged, the shard waits for a snapshot of another node.
    pub(crate) fn handle_examination(&mut self, damage: Option<StoreError>) {
        let was_asked = self
            .stopped
            .as_ref()
            .is_some_and(StopReason::is_background_write);
        match damage.filter(|_| was_asked) {
            Some(damage) => {
                let why = StopReason::Store(damage);
                self.wait_for_snapshot(&why);
                self.stopped = Some(why);
            }
            None if was_asked => self.election.retire(),
            None => {}
        }
    }

    /// Does what a stopped shard still has to do. Returns when the next call must come.
    pub(super) fn tick_stopped(&mut self, now: Now, term: Option<Term>) -> NextCall {
        // It only gives back what it has won.
        self.elect(now, term);
        self.read(now);
        let mut times = vec![self.election.next(), self.journal.next()];
        if self.is_waiting() {
            self.report_only(now, term);
            let fetch = &mut self.snapshot_fetch;
            let request = fetch.request(&self.setup, &mut self.calls, now);
            self.effects.calls.extend(request);
            times.extend([self.disk_progress.next(), self.snapshot_fetch.next()]);
        }
        let next = times.into_iter().flatten().min();
        next.map_or(NextCall::Never, NextCall::At)
    }

    /// A shard that has stopped only lets another node lead, and may wait for a snapshot.
    pub(super) fn handle_stopped(&mut self, event: ShardEvent, now: Now) {
        match event {
            ShardEvent::Answered(call, Ok(answer)) => match answer {
                LogAnswer::Leader(led) => {
                    let again = now.after(self.setup.pause());
                    self.election.answered(call, led, again, now);
                }
                LogAnswer::Reported(noted) => self.disk_progress.reported(call, noted),
                LogAnswer::Reports(reports) => self.choose_provider(call, &reports, now),
                LogAnswer::Tail(tail) if self.journal.is_reading(call) => {
                    self.handle_tail(call, tail, now);
                }
                LogAnswer::Tail(tail) => self.spool_tail(call, tail, now),
                _ => self.election.done(call),
            },
            ShardEvent::Answered(call, Err(_)) => {
                let again = now.after(self.setup.pause());
                self.disk_progress.unanswered(call, again);
                self.journal.unanswered(call, again);
                self.election.unanswered(call, again);
                self.snapshot_fetch.unanswered(call, again);
            }
            ShardEvent::Entries(entries) => {
                self.journal.note_entries(&entries);
                let entries = self.snapshot_fetch.entries(&entries);
                self.effects.spool.extend(entries);
            }
            ShardEvent::FetchFailed(attempt, why) => self.handle_fetch_failure(attempt, &why, now),
            ShardEvent::Persisted(_) => self.disk_progress.sync_ended(),
            ShardEvent::Leader(leader, revision) => {
                self.election.leader_announced(leader, revision, now);
            }
            ShardEvent::Members(members) => self.members = members,
            ShardEvent::ClockIsOff(is_off) => self.election.set_clock_off(is_off),
            ShardEvent::HandOver => self.election.retire(),
            ShardEvent::Settings(settings) => self.configure(*settings, now),
            ShardEvent::PeerMessage(
                peer,
                message @ (ToLeader::Begin { .. } | ToLeader::Released { .. }),
            ) => {
                self.handle_peer_message(peer, message, now, None);
            }
            ShardEvent::PeerMessage(..)
            | ShardEvent::PeerDisconnected(_)
            | ShardEvent::Damaged(_) => {}
            #[cfg(test)]
            ShardEvent::Input(_) => {}
        }
    }
}
