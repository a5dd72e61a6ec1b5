//! Operations of operators.

use std::sync::Arc;

use super::{AuditedOp, BulkAdvance, Ledger, NewBulkJob, Outcome, Sweep, SweepAct};
use hyper_delay_store::{
    Store, StoreError,
    record::{BulkJob, JobState, Name, Place, key},
};

impl<S: Store> Ledger<S> {
    /// Returns the paused routes.
    pub fn paused(&self) -> impl Iterator<Item = &Arc<str>> {
        self.paused.routes()
    }

    /// Returns the running bulk operations in the order in which they began.
    pub fn running_jobs(&self) -> impl Iterator<Item = (u64, &BulkJob)> {
        self.jobs.running()
    }

    /// Applies an operation and adds a line to the audit if it has changed anything.
    pub(super) fn apply_audited(
        &mut self,
        audited: &AuditedOp,
        now: u64,
    ) -> Result<Outcome, StoreError> {
        let outcome = self.apply(&audited.op, now)?;
        self.audit
            .add_operation(audited, &outcome, now, &mut self.rows.writes);
        Ok(outcome)
    }

    /// Removes a dead letter.
    pub(super) fn delete(&mut self, route: &str, id: &str) -> Result<Outcome, StoreError> {
        let key = key::name(route, id);
        match self.rows.name(&key)? {
            Some(name) if matches!(name.place, Place::Dead(_)) => {
                self.rows.remove(route, key, &name);
                Ok(Outcome::Cancelled(Some(name.seq)))
            }
            _ => Ok(Outcome::Cancelled(None)),
        }
    }

    /// Begins a bulk operation. Its number is higher than those of the tasks that exist.
    pub(super) fn begin_bulk(&mut self, bulk: &NewBulkJob) -> Outcome {
        let id = self.numbers.next();
        self.jobs.begin(id, bulk);
        Outcome::BulkBegun(id)
    }

    /// Changes one of many tasks, if it is still the one that was read.
    pub(super) fn sweep(&mut self, sweep: &Sweep) -> Result<Outcome, StoreError> {
        let (route, id) = (&*sweep.route, &*sweep.id);
        let key = key::name(route, id);
        let name = self.rows.name(&key)?;
        let name = name.filter(|name| name.seq == sweep.seq);
        let is_at = |name: &Name, place: Place| name.place == place;
        match (name, sweep.act) {
            (Some(name), SweepAct::Kick { place, at }) if is_at(&name, place) => {
                self.count_swept(sweep);
                self.kick(route, id, at)
            }
            (Some(name), SweepAct::Delete { place }) if is_at(&name, place) => {
                self.count_swept(sweep);
                self.cancel(route, id)
            }
            (Some(_), SweepAct::Purge) => {
                self.count_swept(sweep);
                self.cancel(route, id)
            }
            (name, SweepAct::Move(moved)) => self.sweep_move(sweep, moved, name),
            (_, SweepAct::Kick { .. }) => Ok(Outcome::Kicked(None)),
            (_, SweepAct::Delete { .. } | SweepAct::Purge) => Ok(Outcome::Cancelled(None)),
        }
    }

    fn count_swept(&mut self, sweep: &Sweep) {
        if let Some(job) = sweep.job {
            self.jobs.count(job);
        }
    }

    /// Moves a bulk operation on. Its end adds a line to the audit.
    pub(super) fn advance_bulk(&mut self, advance: &BulkAdvance) -> Outcome {
        let Some(job) = self.jobs.advance(advance) else {
            return Outcome::Applied(false);
        };
        if job.state != JobState::Running {
            let ended = (advance.job, job);
            self.audit
                .add_bulk_end(ended, &advance.actor, advance.at, &mut self.rows.writes);
        }
        Outcome::Applied(true)
    }
}
