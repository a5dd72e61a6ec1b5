//! Moves of tasks: `run_now` and `reschedule` change the due time, and nothing else.
//!
//! A move names a task, and applies to the revision that has the name once the jobs before it are on
//! disk. The ledger does not know what is in flight, so the move says which revision is, and from
//! then on no round of a task of this name begins: see [`MovesInFlight`](super::moves_in_flight).

use std::sync::Arc;

use super::{
    CommitToken, RequestId, Scheduler,
    task::{PendingChange, TaskInMemory},
    task_table::PreviousState,
};
use crate::ledger::{MovedTask, NewDueTime, Op, Outcome, TaskMove, Unmoved};
use hyper_delay_protocol::{Code, MoveTo, Refusal, Reply, in_both_forms};
use hyper_delay_store::{Store, record::Name};

impl<S: Store> Scheduler<S> {
    /// Moves the due time of a task.
    pub(crate) fn move_task(
        &mut self,
        reply_to: RequestId,
        (route, id): (Arc<str>, Arc<str>),
        to: MoveTo,
    ) {
        let now = self.now.wall_millis();
        let due = match to {
            MoveTo::At(due) if due > now => {
                if let Err(message) = to.check(now, self.settings.max_delay_millis) {
                    let refusal = refusal_of((route, id), Code::BadField, message);
                    return self.reply(reply_to, Reply::Error(refusal));
                }
                NewDueTime::At(due)
            }
            MoveTo::At(_) | MoveTo::Now => NewDueTime::NotAfter(now),
        };
        // If the store cannot be read, the ledger meets the error again, and reports it.
        let current = self.view.name(&route, &id).ok().flatten();
        let in_flight = current.as_ref().filter(|name| self.may_be_in_flight(name));
        let in_flight = in_flight.map(|name| name.seq);
        self.moves.begin(route.clone(), id.clone());
        if let Some(name) = current.filter(|name| self.tasks.is_ready(name.seq)) {
            self.hold_for_move(name.seq);
        }
        let wanted = TaskMove {
            route,
            id,
            due,
            in_flight,
        };
        self.submit(Op::Move(wanted), CommitToken::Reply(reply_to));
    }

    /// Whether a consumer has the revision, as far as is known.
    fn may_be_in_flight(&self, name: &Name) -> bool {
        let (seq, now) = (name.seq, self.now.monotonic);
        self.tasks.round(seq).is_some()
            || self.inherited.is_in_flight(seq, now, &self.consumers)
            || self.takeover.may_be_in_flight(name)
    }

    /// Holds a due task if a move of its name is in flight. Returns whether it does: the task is
    /// neither queued nor parked then.
    pub(super) fn hold_for_move(&mut self, seq: u64) -> bool {
        if self.moves.is_empty() {
            return false;
        }
        let Some(task) = self.tasks.get(seq) else {
            return false;
        };
        let is_held = self.moves.hold(seq, &task.route, &task.id);
        if is_held {
            let left = self
                .tasks
                .commit(seq, PendingChange::Move, &mut self.timers);
            if let Some(PreviousState::Ready) = left {
                self.unqueue(seq);
            }
        }
        is_held
    }

    /// A move is on disk, or has changed nothing.
    pub(super) fn handle_moved(&mut self, wanted: TaskMove, outcome: Outcome, token: CommitToken) {
        let TaskMove { route, id, due, .. } = wanted;
        let held = self.moves.end(&route, &id);
        let reply = match outcome {
            Outcome::Moved(moved) => {
                let due = moved.due;
                self.apply_move((&route, &id), moved);
                moved_reply((route, id), true, Some(due))
            }
            Outcome::NotMoved(Unmoved::InFlight) => moved_reply((route, id), true, None),
            Outcome::NotMoved(Unmoved::Dead) => {
                let message = "the task is dead: kick it, with `kick`, `POST /v1/dead/ROUTE/ID/kick` or \
                               `hyper-delay dead ROUTE --kick ID`, to make it due now";
                Reply::Error(refusal_of((route, id), Code::Dead, message.to_owned()))
            }
            Outcome::NotMoved(Unmoved::Expires(at)) => {
                let at = in_both_forms(at);
                let message = match due {
                    NewDueTime::NotAfter(_) => format!(
                        "expires_at is {at}, which has passed: schedule the task again with a later \
                         expires_at"
                    ),
                    NewDueTime::At(due) => format!(
                        "due is {}, and expires_at is {at}: give a time before that, or schedule the \
                         task again with a later expires_at",
                        in_both_forms(due)
                    ),
                };
                Reply::Error(refusal_of((route, id), Code::BadField, message))
            }
            _ => moved_reply((route, id), false, None),
        };
        for seq in held {
            self.release(seq);
        }
        self.reply_to_token(token, || reply);
    }

    /// A task is at another time on disk, and so it is in memory.
    pub(super) fn apply_move(&mut self, (route, id): (&Arc<str>, &Arc<str>), moved: MovedTask) {
        let seq = moved.seq;
        debug_assert!(
            self.tasks.round(seq).is_none(),
            "a task in flight is not moved"
        );
        match self.tasks.pending_change(seq) {
            Some(PendingChange::Move) => {
                if let Some(task) = self.tasks.get_mut(seq) {
                    task.set_moved(&moved);
                }
            }
            // It is done or expired, and the change that says so is in flight.
            Some(_) => {}
            None => match self.take_from_memory(seq) {
                Some((mut task, _)) => {
                    task.set_moved(&moved);
                    self.add_moved(seq, task);
                }
                // Its route reads it once it has room.
                None if moved.is_parked => {}
                None => {
                    let task = TaskInMemory::from_moved(route.clone(), id.clone(), moved);
                    self.add_moved(seq, task);
                }
            },
        }
    }

    /// No move of the name of a held task is in flight any more.
    pub(super) fn release(&mut self, seq: u64) {
        if let Some(task) = self.tasks.take_committed(seq, PendingChange::Move) {
            self.add_moved(seq, task);
        }
    }

    /// A task that is not in memory waits for its time, in memory if that is near. What is parked on
    /// disk is due, whatever the clock says.
    fn add_moved(&mut self, seq: u64, task: TaskInMemory) {
        if task.is_parked() {
            self.tasks.insert_due(seq, task);
            self.offer(seq);
        } else {
            self.add_task(seq, task);
        }
    }
}

fn moved_reply((route, id): (Arc<str>, Arc<str>), found: bool, due: Option<u64>) -> Reply {
    Reply::Moved {
        id,
        route,
        found,
        due,
    }
}

fn refusal_of((route, id): (Arc<str>, Arc<str>), code: Code, message: String) -> Refusal {
    Refusal {
        id: Some(id),
        route: Some(route),
        ..Refusal::new(code, message)
    }
}
