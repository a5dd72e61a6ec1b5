//! What is on disk now, and what follows from it.

use std::sync::Arc;

use race_wheel::Tick;

use super::{
    Committed, Scheduler, Token,
    delivery::due_of,
    live::{Due, Live, State},
};
use crate::{
    ledger::{Op, Order, Outcome, Subject},
    protocol::{Code, Refusal, Reply},
    store::Store,
};

impl<S: Store> Scheduler<S> {
    /// Takes all that was committed together, and then reads what was parked with it: once for each route.
    pub(super) fn all_committed(&mut self, committed: Vec<Committed>) {
        for committed in committed {
            self.committed(committed);
        }
        self.refill_wanting();
    }

    fn committed(&mut self, committed: Committed) {
        let Committed { op, token, outcome } = committed;
        self.promised.committed(&op);
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
            (Op::Finish(subject), outcome) => {
                self.settle(subject.seq, None);
                self.tasks.remove(&subject.seq);
                if let Token::Reply {
                    consumer,
                    tag,
                    weight,
                } = token
                {
                    let reply = Reply::Acked {
                        id: subject.id,
                        route: Some(subject.route),
                        removed: outcome == Outcome::Moved(true),
                    };
                    self.reply(consumer, reply, tag, weight);
                }
            }
            (Op::Retry { subject, .. }, Outcome::Moved(true)) => {
                if self.is_changing(subject.seq) {
                    self.arm_again(subject.seq, due_of(&token));
                }
            }
            (Op::Park(subject), Outcome::Moved(true)) => self.parked(&subject),
            (Op::Retry { subject, .. } | Op::Park(subject), _) | (Op::Bury { subject, .. }, _) => {
                if self.is_changing(subject.seq) {
                    self.tasks.remove(&subject.seq);
                }
            }
            (Op::Cancel { route, id }, Outcome::Cancelled(seq)) => {
                let dropped = seq.and_then(|seq| self.drop_task(seq));
                let in_flight = dropped.is_some_and(|dropped| dropped.in_flight);
                let found = seq.is_some();
                self.answer(token, || Reply::Cancelled {
                    id,
                    route,
                    found,
                    in_flight,
                });
            }
            (Op::Kick { route, id, at }, Outcome::Kicked(kicked)) => {
                if let Some((seq, attempt)) = kicked {
                    self.arrive(seq, live(route.clone(), id.clone(), at, attempt));
                }
                let found = kicked.is_some();
                self.answer(token, || Reply::Kicked { id, route, found });
            }
            (Op::Count { .. } | Op::NothingBefore(_), _)
            | (Op::Cancel { .. } | Op::Kick { .. }, _) => {}
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
        let mut task = live(order.route, order.id, order.at, attempt);
        if let Some(dropped) = replaced.and_then(|old| self.drop_task(old))
            && dropped.attempt > attempt
        {
            task.attempt = dropped.attempt;
            let op = Op::Count {
                subject: task.subject(seq),
                attempt: dropped.attempt,
            };
            self.submit(op, Token::Own(None));
        }
        let (id, route) = (task.id.clone(), task.route.clone());
        self.answer(token, || Reply::Ack {
            id,
            route,
            fire_at: order.fire_at,
        });
        self.arrive(seq, task);
    }

    fn not_scheduled(&mut self, order: Order, outcome: Outcome, token: Token) {
        self.answer(token, || match outcome {
            Outcome::Same => Reply::Ack {
                id: order.id,
                route: order.route,
                fire_at: order.fire_at,
            },
            Outcome::DiskFull => Reply::Error(Refusal {
                code: Code::DiskFull,
                message: "the disk of data_dir has no room for new tasks: free some; \
                          deliveries and acks go on"
                    .to_owned(),
                id: Some(order.id),
                route: Some(order.route),
                tag: None,
            }),
            _ => Reply::Error(Refusal {
                code: Code::DuplicateId,
                message: format!(
                    "route {:?} has or had a task with id {:?} and other content: choose another id, or replace it with \"replace\":true",
                    order.route, order.id
                ),
                id: Some(order.id),
                route: Some(order.route),
                tag: None,
            }),
        });
    }

    /// A task is on disk that was not there before.
    fn arrive(&mut self, seq: u64, task: Live) {
        if let Some(known) = self.tasks.get_mut(&seq) {
            // It was read before this was told; what it replaced had more rounds than were on disk.
            known.attempt = known.attempt.max(task.attempt);
            return;
        }
        if task.at <= self.now.wall_millis() {
            self.tasks.insert(seq, task);
            self.offer(seq);
        } else if self.is_near(task.at, seq) {
            self.arm(seq, task, Due::Wall);
        } else {
            self.window.beyond = true;
        }
    }

    /// A retry is on disk.
    fn arm_again(&mut self, seq: u64, due: Option<Tick>) {
        let Some(task) = self.tasks.remove(&seq) else {
            return;
        };
        if !self.is_near(task.at, seq) {
            self.window.beyond = true;
            return;
        }
        match due {
            Some(due) if due <= self.now.monotonic => {
                self.tasks.insert(seq, task);
                self.offer(seq);
            }
            Some(due) => self.arm(seq, task, Due::Monotonic(due)),
            None => self.arm(seq, task, Due::Wall),
        }
    }

    fn parked(&mut self, subject: &Subject) {
        if !self.is_changing(subject.seq) {
            return;
        }
        let Some(task) = self.tasks.remove(&subject.seq) else {
            return;
        };
        if let Some(route) = self.routes.get_mut(&task.route) {
            route.parked((task.at, subject.seq));
            self.wanting.insert(task.route);
        }
    }

    fn is_changing(&self, seq: u64) -> bool {
        self.tasks
            .get(&seq)
            .is_some_and(|task| matches!(task.state, State::Changing))
    }

    fn answer(&mut self, token: Token, reply: impl FnOnce() -> Reply) {
        if let Token::Reply {
            consumer,
            tag,
            weight,
        } = token
        {
            self.reply(consumer, reply(), tag, weight);
        }
    }
}

fn live(route: Arc<str>, id: Arc<str>, at: u64, attempt: u32) -> Live {
    Live {
        route,
        id,
        at,
        parked: false,
        attempt,
        failures: 0,
        avoid: None,
        state: State::Changing,
    }
}
