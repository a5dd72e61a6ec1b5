//! Handles operations that are on disk.

use super::{
    CommitToken, CommittedJob, Scheduler,
    schedule_refusal::schedule_refusal,
    task::{DueBy, PendingChange, TaskInMemory},
    task_table::PreviousState,
};
use crate::ledger::{Op, Outcome, ScheduleOrder, TaskRevision};
use hyper_delay_protocol::Reply;
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    /// Takes all that was committed together, then reads what was parked with it, once for each
    /// route.
    pub(super) fn handle_committed(&mut self, committed: Vec<CommittedJob>) {
        for committed in committed {
            self.handle_committed_job(committed);
        }
        self.refill_requested();
    }

    fn handle_committed_job(&mut self, committed: CommittedJob) {
        let CommittedJob { op, token, outcome } = committed;
        self.commits.remove_committed(&op);
        match (op, outcome) {
            (
                Op::Schedule(order),
                Outcome::Scheduled {
                    seq,
                    attempt,
                    replaced,
                },
            ) => self.handle_scheduled(order, seq, attempt, replaced, token),
            (Op::Schedule(order), outcome) => self.handle_not_scheduled(order, outcome, token),
            (Op::Finish(revision), outcome) => self.handle_finished(revision, outcome, token),
            (Op::Retry { revision, .. }, Outcome::Applied(true)) => {
                self.handle_retried(&revision, &token);
            }
            (Op::Park(revision), Outcome::Applied(true)) => self.handle_parked(&revision),
            (Op::Retry { revision, .. }, _) => {
                self.tasks
                    .take_committed(revision.seq, PendingChange::Retry);
            }
            (Op::Park(revision), _) => {
                self.tasks.take_committed(revision.seq, PendingChange::Park);
            }
            (Op::Bury { revision, at, .. }, outcome) => {
                let is_dead = outcome == Outcome::Applied(true);
                if let Some(retention) = self.settings.dead_retention_millis {
                    self.retention.note_death(at, retention);
                }
                self.metrics.dead_letters.add(u64::from(is_dead));
                self.tasks.take_committed(revision.seq, PendingChange::Bury);
            }
            (Op::Expire { revision, .. }, outcome) => {
                self.handle_expired(revision, outcome == Outcome::Applied(true));
            }
            (Op::Cancel { route, id }, Outcome::Cancelled(seq)) => {
                let was_due = matches!(token, CommitToken::Cancel(_));
                let in_flight = seq.is_some_and(|seq| self.remove_cancelled(seq) || was_due);
                self.reply_to_token(token, || Reply::Cancelled {
                    id,
                    route,
                    found: seq.is_some(),
                    in_flight,
                });
            }
            (Op::Move(wanted), outcome) => self.handle_moved(wanted, outcome, token),
            (Op::Audited(audited), outcome) => self.handle_operated(*audited, outcome, token),
            (Op::Sweep(sweep), outcome) => self.handle_swept(sweep, outcome),
            (Op::AdvanceBulk(advance), outcome) => self.handle_advanced(*advance, &outcome, token),
            (Op::CheckRetrying { .. }, Outcome::RetryingChecked(next)) => {
                self.check_retrying(next);
            }
            // Those of operators are audited.
            (Op::Count { .. } | Op::AdvanceLowWater(_) | Op::Cancel { .. }, _)
            | (Op::CheckRetrying { .. }, _)
            | (Op::Kick { .. } | Op::Delete { .. } | Op::BeginBulk(_), _)
            | (Op::Pause(_) | Op::Resume(_), _) => {}
        }
    }

    fn handle_scheduled(
        &mut self,
        order: ScheduleOrder,
        seq: u64,
        attempt: u32,
        replaced: Option<u64>,
        token: CommitToken,
    ) {
        match replaced {
            None => self.metrics.scheduled.add(1),
            Some(_) => self.metrics.replaced.add(1),
        }
        let task = TaskInMemory::new(order.route, order.id, order.at, attempt);
        let mut task = task.with_terms(order.terms);
        if let Some(at) = task.expires_at() {
            self.expiry.add(at);
        }
        // A round that began before this was reported keeps its number.
        if let Some((old, _)) = replaced.and_then(|old| self.remove_task(old))
            && self.tasks.round(seq).is_none()
            && task.use_attempts(old.attempt())
        {
            self.submit(task.count(seq), CommitToken::None);
        }
        let (id, route) = (task.id.clone(), task.route.clone());
        self.reply_to_token(token, || Reply::Scheduled {
            id,
            route,
            fire_at: order.fire_at,
        });
        self.add_task(seq, task);
    }

    fn handle_not_scheduled(&mut self, order: ScheduleOrder, outcome: Outcome, token: CommitToken) {
        let reply = if let Outcome::Same { fire_at } = outcome {
            self.metrics.repeated.add(1);
            Reply::Scheduled {
                id: order.id,
                route: order.route,
                fire_at,
            }
        } else {
            Reply::Error(schedule_refusal(&self.settings, &order, &outcome))
        };
        self.reply_to_token(token, || reply);
    }

    fn handle_finished(&mut self, revision: TaskRevision, outcome: Outcome, token: CommitToken) {
        let seq = revision.seq;
        self.inherited.end_finish(seq);
        if let Some((_, PreviousState::Round(round))) = self.take_from_memory(seq) {
            self.lose_copies(&round, seq);
        }
        let removed = outcome == Outcome::Applied(true);
        self.metrics.acks.add(u64::from(removed));
        self.reply_to_token(token, || Reply::Acked {
            id: revision.id,
            route: Some(revision.route),
            removed,
        });
    }

    /// A task is on disk that was not there before.
    pub(super) fn add_task(&mut self, seq: u64, task: TaskInMemory) {
        if let Some(known) = self.tasks.get_mut(seq) {
            // It was read before this was reported; what it replaced had more rounds than the disk
            // knew.
            known.use_attempts(task.attempt());
        } else if task.at() <= self.now.wall_millis() || self.admits(&task, seq) {
            self.insert_loaded(seq, task);
        }
    }

    /// Returns whether a task that waits on disk belongs in memory. Otherwise it is read later.
    fn admits(&mut self, task: &TaskInMemory, seq: u64) -> bool {
        let window = self.settings.window_millis;
        self.horizon.admit(task.position(seq), self.now, window)
    }

    /// A retry is on disk: the task waits for it.
    fn handle_retried(&mut self, revision: &TaskRevision, token: &CommitToken) {
        let seq = revision.seq;
        let (due, has_failed) = match token {
            CommitToken::RetryAt { due, has_failed } => (DueBy::Monotonic(*due), *has_failed),
            CommitToken::Reply(_) | CommitToken::Cancel(_) | CommitToken::None => {
                (DueBy::Wall, true)
            }
        };
        self.metrics.retries.add(u64::from(has_failed));
        let Some(task) = self.tasks.take_committed(seq, PendingChange::Retry) else {
            return;
        };
        if !self.admits(&task, seq) {
            return;
        }
        if due.has_passed(self.now.monotonic) {
            self.tasks.insert_due(seq, task);
            self.offer(seq);
        } else {
            self.wait(seq, task, due);
        }
    }

    fn handle_parked(&mut self, revision: &TaskRevision) {
        let Some(task) = self.tasks.take_committed(revision.seq, PendingChange::Park) else {
            return;
        };
        let position = task.position(revision.seq);
        self.routes.note_parked(task.route, position);
    }

    /// A task is cancelled. Returns whether an open connection was given this revision and has not
    /// given it back: also if its ack is not on disk yet, or its time to answer is over.
    fn remove_cancelled(&mut self, seq: u64) -> bool {
        let is_late = self.consumers.is_late(seq)
            || self
                .inherited
                .is_in_flight(seq, self.now.monotonic, &self.consumers);
        let left = self.remove_task(seq).map(|(_, left)| left);
        let is_in_flight = matches!(
            left,
            Some(PreviousState::Round(_) | PreviousState::Committing(PendingChange::Finish))
        );
        is_in_flight || is_late
    }

    /// A revision is gone from the disk, and so it is from memory.
    pub(super) fn remove_task(&mut self, seq: u64) -> Option<(TaskInMemory, PreviousState)> {
        let (task, left) = self.take_from_memory(seq)?;
        if let PreviousState::Round(round) = &left {
            self.abandon_copies(round, seq);
        }
        Some((task, left))
    }

    pub(super) fn take_from_memory(&mut self, seq: u64) -> Option<(TaskInMemory, PreviousState)> {
        let (task, left) = self.tasks.remove(seq, &mut self.timers)?;
        if let PreviousState::Ready = left {
            let position = task.position(seq);
            self.routes
                .unqueue(&task.route, position, self.settings.ready);
        }
        Some((task, left))
    }

    pub(super) fn reply_to_token(&mut self, token: CommitToken, reply: impl FnOnce() -> Reply) {
        if let CommitToken::Reply(to) | CommitToken::Cancel(to) = token {
            self.reply(to, reply());
        }
    }
}
