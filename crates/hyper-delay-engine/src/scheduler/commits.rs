//! What follows from what is on disk.

use super::{
    Committed, Scheduler, Token,
    scheduling::refusal_of,
    task::{Change, Due, Task},
    tasks::Left,
};
use crate::ledger::{Op, Order, Outcome, Subject};
use hyper_delay_config::Quota;
use hyper_delay_protocol::{Code, Reply};
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    /// Takes all that was committed together, then reads what was parked with it, once for each
    /// route.
    pub(super) fn committed(&mut self, committed: Vec<Committed>) {
        for committed in committed {
            self.one_committed(committed);
        }
        self.refill_wanting();
    }

    fn one_committed(&mut self, committed: Committed) {
        let Committed { op, token, outcome } = committed;
        self.requests.committed(&op);
        let op = match op {
            Op::Audited(audited) => {
                self.unwritten.remove(&audited.op);
                self.log_audit(&audited, &outcome);
                audited.op
            }
            op => op,
        };
        match (op, outcome) {
            (
                Op::Schedule(order),
                Outcome::Scheduled {
                    seq,
                    attempt,
                    replaced,
                },
            ) => self.scheduled(order, seq, attempt, replaced, token),
            (Op::Schedule(order), outcome) => self.not_scheduled(order, outcome, token),
            (Op::Finish(subject), outcome) => self.finished(subject, outcome, token),
            (Op::Retry { subject, .. }, Outcome::Moved(true)) => self.retried(&subject, &token),
            (Op::Park(subject), Outcome::Moved(true)) => self.parked(&subject),
            (Op::Retry { subject, .. }, _) => {
                self.tasks.committed(subject.seq, Change::Retry);
            }
            (Op::Park(subject), _) => {
                self.tasks.committed(subject.seq, Change::Park);
            }
            (Op::Bury { subject, at, .. }, outcome) => {
                let is_dead = outcome == Outcome::Moved(true);
                if let Some(retention) = self.settings.dead_retention_millis {
                    self.retention.died(at, retention);
                }
                self.metrics.dead_letters.add(u64::from(is_dead));
                self.tasks.committed(subject.seq, Change::Bury);
            }
            (Op::Expire { subject, .. }, outcome) => {
                self.expired(subject, outcome == Outcome::Moved(true));
            }
            (Op::Cancel { route, id }, Outcome::Cancelled(seq)) => {
                let was_due = matches!(token, Token::Cancel(_));
                let in_flight = seq.is_some_and(|seq| self.was_in_flight(seq, &id) || was_due);
                self.answer(token, || Reply::Cancelled {
                    id,
                    route,
                    found: seq.is_some(),
                    in_flight,
                });
            }
            (Op::Kick { route, id, at }, Outcome::Kicked(kicked)) => {
                let found = kicked.is_some();
                if let Some(kicked) = kicked {
                    let seq = kicked.seq;
                    self.added(seq, Task::kicked(route.clone(), id.clone(), at, kicked));
                }
                self.answer(token, || Reply::Kicked { id, route, found });
            }
            (Op::Delete { route, id }, Outcome::Cancelled(seq)) => {
                if let Some(seq) = seq {
                    self.remove(seq);
                }
                let found = seq.is_some();
                self.answer(token, || Reply::Deleted { id, route, found });
            }
            (Op::Pause(route), Outcome::Moved(changed)) => {
                self.route_paused(route.clone());
                self.answer(token, || Reply::Paused { route, changed });
            }
            (Op::Resume(route), Outcome::Moved(changed)) => {
                let name = route.clone();
                self.answer(token, || Reply::Resumed { route, changed });
                self.route_resumed(&name);
            }
            (Op::Begin(bulk), Outcome::Began(job)) => self.began(*bulk, job, token),
            (Op::Sweep(sweep), outcome) => self.swept(sweep, outcome),
            (Op::Advance(advance), outcome) => self.advanced(*advance, outcome, token),
            (Op::Count { .. } | Op::AdvanceLowWater(_) | Op::Audited(_), _)
            | (Op::Cancel { .. } | Op::Kick { .. } | Op::Delete { .. }, _)
            | (Op::Pause(_) | Op::Resume(_) | Op::Begin(_), _) => {}
        }
    }

    /// A schedule is answered, which may be one on the connection's own route.
    fn may_be_on_own(&mut self, token: &Token, was_refused: bool) {
        if let Token::ScheduledOnOwn(to) = token {
            self.scheduled_on_own(to.consumer, was_refused);
        }
    }

    fn scheduled(
        &mut self,
        order: Order,
        seq: u64,
        attempt: u32,
        replaced: Option<u64>,
        token: Token,
    ) {
        match replaced {
            None => self.metrics.scheduled.add(1),
            Some(_) => self.metrics.replaced.add(1),
        }
        let mut task = Task {
            terms: order.terms,
            ..Task::new(order.route, order.id, order.at, attempt)
        };
        if let Some(at) = task.expires_at() {
            self.expiry.add(at);
        }
        if let Some((old, _)) = replaced.and_then(|old| self.remove(old))
            && old.attempt > attempt
        {
            task.attempt = old.attempt;
            let op = Op::Count {
                subject: task.subject(seq),
                attempt: old.attempt,
            };
            self.submit(op, Token::None);
        }
        self.may_be_on_own(&token, false);
        let (id, route) = (task.id.clone(), task.route.clone());
        self.answer(token, || Reply::Scheduled {
            id,
            route,
            fire_at: order.fire_at,
        });
        self.added(seq, task);
    }

    fn not_scheduled(&mut self, order: Order, outcome: Outcome, token: Token) {
        self.may_be_on_own(&token, outcome != Outcome::Same);
        let reply = if outcome == Outcome::Same {
            self.metrics.repeated.add(1);
            Reply::Scheduled {
                id: order.id,
                route: order.route,
                fire_at: order.fire_at,
            }
        } else {
            let (code, message) = self.why_not_scheduled(&order, &outcome);
            Reply::Error(refusal_of(&order, code, message))
        };
        self.answer(token, || reply);
    }

    fn why_not_scheduled(&self, order: &Order, outcome: &Outcome) -> (Code, String) {
        let route = &*order.route;
        let quota = |quota: fn(&Quota) -> Option<u64>| self.settings.quota_of(route, quota);
        match outcome {
            Outcome::OverQuota => (
                Code::Quota,
                over_quota(quota(|quota| quota.pending), route),
            ),
            Outcome::OverBytes => (
                Code::Quota,
                over_bytes(quota(|quota| quota.pending_bytes), route),
            ),
            Outcome::OverTokenQuota(most) => (
                Code::Quota,
                format!(
                    "pending of the token is {most}, and its routes have as many tasks: wait until \
                     some are done"
                ),
            ),
            Outcome::OverTokenBytes(most) => (
                Code::Quota,
                format!(
                    "pending_bytes of the token is {most}, and with this payload the tasks of its \
                     routes would have more: wait until some are done, or send a reference to the \
                     payload"
                ),
            ),
            Outcome::DiskFull => (
                Code::DiskFull,
                "the disk of data_dir has no room for new tasks, or its file system reports no free \
                 bytes: look at df, and free some; deliveries and acks go on"
                    .to_owned(),
            ),
            _ => (
                Code::DuplicateId,
                format!(
                    "route {route:?} has or had a task with id {:?} and other content: choose \
                     another id, or replace it with \"replace\":true",
                    order.id
                ),
            ),
        }
    }

    fn finished(&mut self, subject: Subject, outcome: Outcome, token: Token) {
        let seq = subject.seq;
        self.remote.finished(seq);
        if let Some((task, Left::Round(round))) = self.take_out(seq) {
            self.lose_copies(&round, &task.id, seq);
        }
        let removed = outcome == Outcome::Moved(true);
        self.metrics.acks.add(u64::from(removed));
        self.answer(token, || Reply::Acked {
            id: subject.id,
            route: Some(subject.route),
            removed,
        });
    }

    /// A task is on disk that was not there before.
    pub(super) fn added(&mut self, seq: u64, task: Task) {
        if let Some(known) = self.tasks.get_mut(seq) {
            // It was read before this was reported; what it replaced had more rounds than the disk
            // knew.
            known.attempt = known.attempt.max(task.attempt);
        } else if task.at <= self.now.wall_millis() || self.is_near(task.position(seq)) {
            self.arrive(seq, task);
        } else {
            self.horizon.left_on_disk();
        }
    }

    /// A retry is on disk: the task waits for it.
    fn retried(&mut self, subject: &Subject, token: &Token) {
        let seq = subject.seq;
        let (due, has_failed) = match token {
            Token::RetryAt { due, has_failed } => (Due::Monotonic(*due), *has_failed),
            Token::Reply(_) | Token::ScheduledOnOwn(_) | Token::Cancel(_) | Token::None => {
                (Due::Wall, true)
            }
        };
        self.metrics.retries.add(u64::from(has_failed));
        let Some(task) = self.tasks.committed(seq, Change::Retry) else {
            return;
        };
        if !self.is_near(task.position(seq)) {
            self.horizon.left_on_disk();
        } else if due.has_passed(self.now.monotonic) {
            self.tasks.insert_due(seq, task);
            self.offer(seq);
        } else {
            self.wait(seq, task, due);
        }
    }

    fn parked(&mut self, subject: &Subject) {
        let Some(task) = self.tasks.committed(subject.seq, Change::Park) else {
            return;
        };
        if let Some(route) = self.routes.get_mut(&task.route) {
            route.parked(task.position(subject.seq));
            self.routes.want(task.route);
        }
    }

    /// A task is cancelled. Returns whether an open connection was given this revision and has not
    /// given it back: also if its ack is not on disk yet, or its time to answer is over.
    fn was_in_flight(&mut self, seq: u64, id: &str) -> bool {
        let is_late = self.consumers.is_late(seq) || self.is_inherited(seq, id);
        let left = self.remove(seq).map(|(_, left)| left);
        let is_in_flight = matches!(
            left,
            Some(Left::Round(_) | Left::Committing(Change::Finish))
        );
        is_in_flight || is_late
    }

    /// A revision is gone from the disk, and so it is from memory.
    pub(super) fn remove(&mut self, seq: u64) -> Option<(Task, Left)> {
        let (task, left) = self.take_out(seq)?;
        if let Left::Round(round) = &left {
            self.abandon_copies(round, &task.id, seq);
        }
        Some((task, left))
    }

    fn take_out(&mut self, seq: u64) -> Option<(Task, Left)> {
        let (task, left) = self.tasks.remove(seq, &mut self.timers)?;
        if let Left::Ready = left {
            self.unqueue_from(&task.route, task.position(seq));
        }
        Some((task, left))
    }

    pub(super) fn answer(&mut self, token: Token, reply: impl FnOnce() -> Reply) {
        if let Token::Reply(to) | Token::ScheduledOnOwn(to) | Token::Cancel(to) = token {
            self.reply(to, reply());
        }
    }
}

/// Names the quota of pending tasks that a route has reached. It can have changed since.
fn over_quota(quota: Option<(&str, u64)>, route: &str) -> String {
    match quota {
        Some((key, most)) => format!(
            "pending of route {route:?} is {most} (quotas, key {key:?}), and it has as many tasks: \
             wait until some are done"
        ),
        None => format!("route {route:?} had as many pending tasks as its quota: send it again"),
    }
}

/// Names the quota of bytes that the payloads of a route would exceed. It can have changed since.
fn over_bytes(quota: Option<(&str, u64)>, route: &str) -> String {
    match quota {
        Some((key, most)) => format!(
            "pending_bytes of route {route:?} is {most} (quotas, key {key:?}), and with this payload \
             its tasks would have more: wait until some are done, or send a reference to the payload"
        ),
        None => format!("route {route:?} had as many pending bytes as its quota: send it again"),
    }
}
