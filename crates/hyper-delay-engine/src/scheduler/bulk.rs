//! Runs the bulk operations of operators.

use super::{
    CommitToken, RequestId, Scheduler,
    bulk_queue::{BatchTimes, RunningBulkJob},
    task::TaskInMemory,
};
use crate::ledger::{Actor, BulkAdvance, NewBulkJob, Op, Outcome, Sweep, SweepAct};
use hyper_delay_protocol::Reply;
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    /// Whether to read a batch of a bulk operation.
    pub(super) fn wants_bulk(&self) -> bool {
        self.bulk.is_due() && self.may_sweep()
    }

    /// Reads and submits the next batch of the first bulk operation.
    pub(super) fn continue_bulk(&mut self) {
        if !self.wants_bulk() {
            return;
        }
        let (sizes, now) = (self.settings.sizes, self.now);
        let is_in_flight = |seq| {
            let inherited = || {
                self.inherited
                    .is_in_flight(seq, now.monotonic, &self.consumers)
            };
            self.tasks.round(seq).is_some() || inherited()
        };
        let now = now.wall_millis();
        let times = BatchTimes {
            now,
            latest: now.saturating_add(self.settings.max_delay_millis),
        };
        match self.bulk.next_batch(&self.view, sizes, times, is_in_flight) {
            Ok(ops) => {
                for op in ops {
                    self.hold_swept(&op);
                    self.submit(op, CommitToken::None);
                }
            }
            Err(error) => self.fail(error),
        }
    }

    /// As for a move of one task, no round of the task begins until the move is on disk.
    fn hold_swept(&mut self, op: &Op) {
        let Op::Sweep(sweep) = op else {
            return;
        };
        if let SweepAct::Move(_) = sweep.act {
            self.moves.begin(sweep.route.clone(), sweep.id.clone());
            if self.tasks.is_ready(sweep.seq) {
                self.hold_for_move(sweep.seq);
            }
        }
    }

    /// Ends a bulk operation after the batch that is on its way to the disk. The reply comes when that
    /// is on disk, so that a crash cannot undo it.
    pub(super) fn stop_bulk(&mut self, job: u64, actor: Actor, reply_to: RequestId) {
        match self.bulk.stop(job, actor, self.now.wall_millis()) {
            Some(end) => self.submit(end, CommitToken::Reply(reply_to)),
            None => self.reply(reply_to, Reply::Stopped { job, found: false }),
        }
    }

    /// A bulk operation is on disk: it begins.
    pub(super) fn handle_bulk_begun(&mut self, bulk: NewBulkJob, id: u64, token: CommitToken) {
        let job = bulk.to_stored_job();
        self.bulk.push(RunningBulkJob::from_stored(id, &job));
        self.reply_to_token(token, || Reply::Job(Box::new(job.row(id))));
    }

    /// One of many tasks is changed on disk.
    pub(super) fn handle_swept(&mut self, sweep: Sweep, outcome: Outcome) {
        if sweep.job.is_none() {
            return self.handle_old_dead_removed(sweep, &outcome);
        }
        match (sweep.act, outcome) {
            (SweepAct::Kick { at, .. }, Outcome::Kicked(Some(kicked))) => {
                self.bulk.count_change();
                self.add_task(
                    kicked.seq,
                    TaskInMemory::from_kicked(sweep.route, sweep.id, at, kicked),
                );
            }
            (SweepAct::Move(_), outcome) => {
                let held = self.moves.end(&sweep.route, &sweep.id);
                if let Outcome::Moved(moved) = outcome {
                    self.bulk.count_change();
                    self.apply_move((&sweep.route, &sweep.id), moved);
                }
                for seq in held {
                    self.release(seq);
                }
            }
            (_, Outcome::Cancelled(Some(seq))) => {
                self.bulk.count_change();
                self.remove_task(seq);
            }
            _ => {}
        }
    }

    /// A batch of the first bulk operation is on disk, or the end of any of them.
    pub(super) fn handle_advanced(
        &mut self,
        advance: BulkAdvance,
        outcome: &Outcome,
        token: CommitToken,
    ) {
        let is_moved = *outcome == Outcome::Applied(true);
        self.reply_to_token(token, || Reply::Stopped {
            job: advance.job,
            found: is_moved,
        });
        self.bulk.advance(advance, is_moved);
    }
}
