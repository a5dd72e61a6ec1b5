//! A model of the ledger without a disk.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::{
    KickedTask, MovedTask, NewDueTime, Op, Outcome, ScheduleOrder, Sweep, SweepAct, SweepMove,
    TaskMove, TaskRevision, Unmoved,
};
use hyper_delay_protocol::{
    BulkAct, BulkMove, BulkMoveTo, Due, Filter, LastFailure, TaskState, Terms,
};
use hyper_delay_store::record::Place;

/// The deduplication window in milliseconds.
pub(super) const KEEP: u64 = 1_000;

#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) tasks: BTreeMap<(String, String), Task>,
    done: BTreeMap<(String, String), Done>,
    /// All sequence numbers that were issued.
    pub(super) numbers: BTreeSet<u64>,
    /// The bulk operations that move tasks, with the number of tasks that each has changed.
    pub(super) moving: BTreeMap<u64, (BulkMove, Filter, u64)>,
}

/// A finished task in the deduplication window.
#[derive(Debug, Clone)]
struct Done {
    until: u64,
    attempt: u32,
    due: Due,
    payload: Vec<u8>,
    terms: Option<Box<Terms>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) seq: u64,
    pub(super) fire_at: u64,
    /// What the content has of its time.
    pub(super) due: Due,
    pub(super) payload: Vec<u8>,
    /// Those of the first schedule of this content.
    pub(super) headers: String,
    pub(super) place: Place,
    pub(super) attempt: u32,
    pub(super) failures: u32,
    pub(super) failure: Option<Box<LastFailure>>,
    pub(super) terms: Option<Box<Terms>>,
}

impl Task {
    fn fail(&mut self, (attempt, failures): (u32, u32), failure: &Option<Box<LastFailure>>) {
        (self.attempt, self.failures) = (attempt, failures);
        if failure.is_some() {
            self.failure = failure.clone();
        }
    }

    /// The outcome of a move that has brought it to its place.
    fn moved(&self) -> MovedTask {
        MovedTask {
            seq: self.seq,
            due: match self.place {
                Place::Waiting(due) | Place::Parked(due) | Place::Dead(due) => due,
            },
            is_parked: matches!(self.place, Place::Parked(_)),
            attempt: self.attempt,
            failures: self.failures,
            terms: self.terms.clone(),
        }
    }

    /// Returns the time to which a bulk operation moves it, if it does.
    fn due_after(&self, sweep: SweepMove, moves: BulkMove, filter: &Filter) -> Option<u64> {
        let (state, due) = match self.place {
            Place::Waiting(due) => (TaskState::Waiting, due),
            Place::Parked(due) => (TaskState::Parked, due),
            Place::Dead(_) => return None,
        };
        if filter.from.is_some_and(|from| due < from) || filter.until.is_some_and(|end| due >= end)
        {
            return None;
        }
        if moves
            .state
            .is_some_and(|it| it != state && it != TaskState::Retrying)
        {
            return None;
        }
        if moves.state == Some(TaskState::Retrying) || filter.reason.is_some() {
            let reason = self.failure.as_ref()?.reason.clone().unwrap_or_default();
            if filter
                .reason
                .as_ref()
                .is_some_and(|wanted| *wanted != reason)
            {
                return None;
            }
        }
        let to = match sweep.to {
            BulkMoveTo::Now => sweep.now,
            BulkMoveTo::At(at) => at.max(sweep.now),
            BulkMoveTo::Later(shift) => due.saturating_add(shift),
        };
        let stays = match sweep.to {
            BulkMoveTo::Later(_) => to <= sweep.now || to > sweep.latest,
            // A parked task waits again, even for the time at which it was due.
            BulkMoveTo::At(at) if at > sweep.now => self.place == Place::Waiting(to),
            _ => due <= sweep.now,
        };
        let expires_at = self.terms.as_ref().and_then(|terms| terms.expires_at);
        (!stays && expires_at.is_none_or(|at| to < at)).then_some(to)
    }
}

impl Model {
    /// Applies an operation, and checks the outcome that the ledger returned.
    pub(super) fn apply(&mut self, op: &Op, now: u64, outcome: Outcome) {
        match op {
            Op::Schedule(order) => self.schedule(order, now, outcome),
            Op::Finish(revision) => {
                let task = self.current(revision).map(|task| task.clone());
                assert_eq!(outcome, Outcome::Applied(task.is_some()));
                if let Some(task) = task {
                    let name = named(&revision.route, &revision.id);
                    let done = Done {
                        until: now + KEEP,
                        attempt: task.attempt.max(revision.attempt),
                        due: task.due,
                        payload: task.payload,
                        terms: task.terms,
                    };
                    self.tasks.remove(&name);
                    self.done.insert(name, done);
                }
            }
            Op::Retry {
                revision,
                at,
                attempt,
                failures,
                failure,
            } => self.update(revision, outcome, |task| {
                task.place = Place::Waiting(*at);
                task.fail((*attempt, *failures), failure);
            }),
            Op::Park(revision) => self.update(revision, outcome, |task| {
                if let Place::Waiting(at) = task.place {
                    task.place = Place::Parked(at);
                }
                task.attempt = task.attempt.max(revision.attempt);
            }),
            Op::Bury {
                revision,
                at,
                attempt,
                failures,
                failure,
                ..
            } => self.update(revision, outcome, |task| {
                task.place = Place::Dead(*at);
                task.fail((*attempt, *failures), failure);
            }),
            Op::Count { revision, attempt } => self.update(revision, outcome, |task| {
                task.attempt = task.attempt.max(*attempt);
            }),
            Op::Expire { revision, .. } => {
                let found = self.current(revision).is_some();
                assert_eq!(outcome, Outcome::Applied(found));
                if found {
                    self.tasks.remove(&named(&revision.route, &revision.id));
                }
            }
            Op::Cancel { route, id } => {
                let removed = self.tasks.remove(&named(route, id));
                assert_eq!(outcome, Outcome::Cancelled(removed.map(|task| task.seq)));
            }
            Op::Move(wanted) => assert_eq!(outcome, self.move_task(wanted)),
            Op::Kick { route, id, at } => {
                let dead = self.tasks.get_mut(&named(route, id));
                let dead = dead.filter(|task| matches!(task.place, Place::Dead(_)));
                let kicked = dead.map(|task| {
                    task.place = Place::Waiting(*at);
                    (task.failures, task.failure) = (0, None);
                    KickedTask {
                        seq: task.seq,
                        attempt: task.attempt,
                        terms: task.terms.clone(),
                    }
                });
                assert_eq!(outcome, Outcome::Kicked(kicked));
            }
            Op::Delete { route, id } => {
                let name = named(route, id);
                let task = self.tasks.get(&name);
                let is_dead = task.is_some_and(|task| matches!(task.place, Place::Dead(_)));
                let removed = is_dead.then(|| self.tasks.remove(&name)).flatten();
                assert_eq!(outcome, Outcome::Cancelled(removed.map(|task| task.seq)));
            }
            Op::Sweep(sweep) => {
                let changes = matches!(
                    outcome,
                    Outcome::Moved(_) | Outcome::Kicked(Some(_)) | Outcome::Cancelled(Some(_))
                );
                self.sweep(sweep, outcome);
                let job = sweep.job.and_then(|job| self.moving.get_mut(&job));
                if let Some((_, _, changed)) = job.filter(|_| changes) {
                    *changed += 1;
                }
            }
            Op::Audited(audited) => self.apply(&audited.op, now, outcome),
            Op::BeginBulk(bulk) => {
                let Outcome::BulkBegun(number) = outcome else {
                    panic!("{outcome:?}");
                };
                assert!(self.numbers.insert(number), "{number} was issued before");
                if let BulkAct::Move(moved) = bulk.act {
                    self.moving.insert(number, (moved, bulk.filter.clone(), 0));
                }
            }
            Op::Pause(_) | Op::Resume(_) | Op::AdvanceBulk(_) => {}
            Op::AdvanceLowWater(_) => assert_eq!(outcome, Outcome::Applied(true)),
            Op::CheckRetrying { .. } => assert!(matches!(outcome, Outcome::RetryingChecked(_))),
        }
    }

    /// Returns the earliest due time of the waiting tasks.
    pub(super) fn earliest(&self) -> Option<u64> {
        let waiting = self.tasks.values().filter_map(|task| match task.place {
            Place::Waiting(at) => Some(at),
            Place::Parked(_) | Place::Dead(_) => None,
        });
        waiting.min()
    }

    fn schedule(&mut self, order: &ScheduleOrder, now: u64, outcome: Outcome) {
        let name = named(&order.route, &order.id);
        let mut before = 0;
        let mut old = None;
        let taken = if let Some(task) = self.tasks.get(&name) {
            (before, old) = (task.attempt, Some(task.seq));
            let is_same = is_same((task.due, &task.payload, &task.terms), order);
            Some((is_same, task.fire_at))
        } else if let Some(done) = self.done.get(&name)
            && now < done.until
        {
            before = done.attempt;
            let arrived = order.fire_at - order.delay_ms.unwrap_or(0);
            let is_same = is_same((done.due, &done.payload, &done.terms), order);
            Some((is_same, arrived))
        } else {
            None
        };
        match (taken, order.replace) {
            (Some((true, fire_at)), _) => {
                return assert_eq!(outcome, Outcome::Same { fire_at });
            }
            _ if expires_before_due(order) => {
                return assert_eq!(outcome, Outcome::ExpiresBeforeDue);
            }
            (Some((false, _)), false) => return assert_eq!(outcome, Outcome::NameTaken),
            (Some((false, _)), true) | (None, _) => {}
        }
        let Outcome::Scheduled {
            seq,
            attempt,
            replaced,
        } = outcome
        else {
            panic!("the order was not scheduled: {outcome:?}");
        };
        assert_eq!((attempt, replaced), (before, old));
        assert!(self.numbers.insert(seq), "{seq} was issued before");
        self.done.remove(&name);
        let task = Task {
            seq,
            fire_at: order.fire_at,
            due: due(order),
            payload: order.payload.to_vec(),
            headers: order.headers.text().to_owned(),
            place: Place::Waiting(order.at),
            attempt,
            failures: 0,
            failure: None,
            terms: order.terms.clone(),
        };
        self.tasks.insert(name, task);
    }

    /// Only the place of a task changes.
    fn move_task(&mut self, wanted: &TaskMove) -> Outcome {
        let Some(task) = self.tasks.get_mut(&named(&wanted.route, &wanted.id)) else {
            return Outcome::NotMoved(Unmoved::NotFound);
        };
        let (NewDueTime::At(at) | NewDueTime::NotAfter(at)) = wanted.due;
        let expires_at = task.terms.as_ref().and_then(|terms| terms.expires_at);
        match (task.place, wanted.due) {
            _ if wanted.in_flight == Some(task.seq) => {
                return Outcome::NotMoved(Unmoved::InFlight);
            }
            (Place::Dead(_), _) => return Outcome::NotMoved(Unmoved::Dead),
            _ if expires_at.is_some_and(|expires_at| expires_at <= at) => {
                return Outcome::NotMoved(Unmoved::Expires(expires_at.unwrap()));
            }
            (Place::Waiting(due) | Place::Parked(due), NewDueTime::NotAfter(at)) if due <= at => {}
            _ => task.place = Place::Waiting(at),
        }
        Outcome::Moved(task.moved())
    }

    fn sweep(&mut self, sweep: &Sweep, outcome: Outcome) {
        let name = named(&sweep.route, &sweep.id);
        let task = self.tasks.get_mut(&name);
        let task = task.filter(|task| task.seq == sweep.seq);
        match sweep.act {
            SweepAct::Kick { place, at } => {
                let kicked = task.filter(|task| task.place == place).map(|task| {
                    task.place = Place::Waiting(at);
                    (task.failures, task.failure) = (0, None);
                    KickedTask {
                        seq: task.seq,
                        attempt: task.attempt,
                        terms: task.terms.clone(),
                    }
                });
                assert_eq!(outcome, Outcome::Kicked(kicked));
            }
            SweepAct::Delete { place } => {
                let seq = task.filter(|task| task.place == place).map(|task| task.seq);
                assert_eq!(outcome, Outcome::Cancelled(seq));
                if seq.is_some() {
                    self.tasks.remove(&name);
                }
            }
            SweepAct::Purge => {
                let seq = task.map(|task| task.seq);
                assert_eq!(outcome, Outcome::Cancelled(seq));
                if seq.is_some() {
                    self.tasks.remove(&name);
                }
            }
            SweepAct::Move(moved) => {
                let job = sweep.job.and_then(|job| self.moving.get(&job));
                let due = task.as_ref().zip(job);
                let due = due
                    .and_then(|(task, (moves, filter, _))| task.due_after(moved, *moves, filter));
                match task.zip(due) {
                    Some((task, due)) => {
                        task.place = Place::Waiting(due);
                        assert_eq!(outcome, Outcome::Moved(task.moved()));
                    }
                    None => assert!(matches!(outcome, Outcome::NotMoved(_)), "{outcome:?}"),
                }
            }
        }
    }

    fn update(
        &mut self,
        revision: &TaskRevision,
        outcome: Outcome,
        change: impl FnOnce(&mut Task),
    ) {
        let task = self.current(revision);
        assert_eq!(outcome, Outcome::Applied(task.is_some()));
        if let Some(task) = task {
            change(task);
        }
    }

    fn current(&mut self, revision: &TaskRevision) -> Option<&mut Task> {
        let task = self.tasks.get_mut(&named(&revision.route, &revision.id));
        task.filter(|task| task.seq == revision.seq)
    }
}

/// Whether a content is that of an order.
fn is_same(content: (Due, &[u8], &Option<Box<Terms>>), order: &ScheduleOrder) -> bool {
    content == (due(order), &*order.payload, &order.terms)
}

/// What the content of an order has of its time.
fn due(order: &ScheduleOrder) -> Due {
    order.delay_ms.map_or(Due::At(order.fire_at), Due::After)
}

fn expires_before_due(order: &ScheduleOrder) -> bool {
    let expires_at = order.terms.as_ref().and_then(|terms| terms.expires_at);
    matches!(due(order), Due::After(_)) && expires_at.is_some_and(|at| at <= order.fire_at)
}

pub(super) fn named(route: &str, id: &str) -> (String, String) {
    (route.to_owned(), id.to_owned())
}
