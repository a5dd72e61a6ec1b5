//! Leading: the scheduler and the ledger of the shard run here.

use super::{
    LeadershipChange, Shard,
    leader_state::{LeaderEffects, LeaderState},
};
use crate::log::Fence;
use hyper_delay_engine::{
    clock::Now,
    scheduler::{NextCall, SchedulerInput},
};
use hyper_delay_store::Store;

impl<S: Store> Shard<S> {
    /// Leads the shard from now on. Everything that is in the journal is applied.
    pub(super) fn lead(&mut self, fence: Fence, now: Now) {
        match LeaderState::open(fence, &self.replica, &self.setup, now) {
            Ok(leading) => {
                self.leading = Some(Box::new(leading));
                self.effects.changes.push(LeadershipChange::Begins(fence));
                self.begin_sessions(now);
                if let Err(error) = self.withhold(now) {
                    self.stop(error);
                }
            }
            Err(error) => self.stop(error),
        }
    }

    /// Passes an input from outside to the scheduler, if the leader still accepts it.
    pub(super) fn accept_input(&mut self, input: SchedulerInput, now: Now) {
        let leading = self.leading.as_ref();
        if leading.is_some_and(|leading| leading.hand_over().accepts(&input, now)) {
            self.input(input, now);
        }
    }

    /// Returns whether what becomes of deliveries still counts.
    pub(super) fn accepts_answers(&self, now: Now) -> bool {
        let leading = self.leading.as_ref();
        leading.is_some_and(|leading| leading.hand_over().accepts_answers(now))
    }

    /// Returns whether this node leads the shard and hands it over.
    pub(super) fn is_ending(&self) -> bool {
        let leading = self.leading.as_ref();
        leading.is_some_and(|leading| leading.hand_over().is_begun())
    }

    /// Takes and delivers nothing more. The leadership ends when the journal contains what was taken
    /// and what is in flight.
    pub(super) fn hand_over(&mut self, now: Now) {
        self.election.retire();
        match &mut self.leading {
            Some(leading) => {
                let effects = leading.end(now.after(self.setup.lease / 8), now);
                self.carry_out(effects, now);
            }
            None => self.withdraw(),
        }
    }

    /// Passes an input to the scheduler, if this node leads.
    pub(super) fn input(&mut self, input: SchedulerInput, now: Now) {
        if let Some(leading) = &mut self.leading {
            let effects = leading.handle(input, now);
            self.carry_out(effects, now);
        }
    }

    pub(super) fn tick_scheduler(&mut self, now: Now) -> NextCall {
        let Some(leading) = &mut self.leading else {
            return NextCall::Never;
        };
        let (next, effects) = leading.tick(self.replica.store(), &self.setup, now);
        self.carry_out(effects, now);
        next
    }

    fn carry_out(&mut self, effects: LeaderEffects, now: Now) {
        self.send_messages(effects.messages, now);
        if let Some(error) = effects.failed {
            self.stop(error);
        }
    }
}
