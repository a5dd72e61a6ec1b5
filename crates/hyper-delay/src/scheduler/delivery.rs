//! From due to done: who gets a task, and who has it no more.

use std::{mem, sync::Arc};

use race_wheel::Tick;

use super::{
    ConsumerId, Job, Message, Scheduler, Timer, Token,
    consumer::{Consumer, Copy},
    hedge::RoundNumber,
    live::{Copies, Live, State},
};
use crate::{
    ledger::Op,
    protocol::{Named, Reply},
    store::{Store, StoreError},
};

/// Why nobody gets a task.
enum Nobody {
    HasRoom,
    MayHaveThisId,
}

/// What was dropped.
pub(super) struct Dropped {
    /// Rounds it had, with the one under way, whether that is on disk or not.
    pub(super) attempt: u32,
    pub(super) in_flight: bool,
}

impl<S: Store> Scheduler<S> {
    /// A task is due: it waits for a consumer to have room, or, if none can be expected to, on disk.
    pub(super) fn offer(&mut self, seq: u64) {
        let in_memory = self.tasks.len();
        let Some(task) = self.tasks.get_mut(&seq) else {
            return;
        };
        let full = in_memory > 2 * self.settings.window_tasks;
        match self.routes.get_mut(&task.route) {
            Some(route)
                if route.backlog.is_none()
                    && route.ready.len() < self.settings.ready
                    && (!full || route.ready.is_empty()) =>
            {
                task.state = State::Ready;
                route.ready.insert((task.at, seq));
                let route = task.route.clone();
                self.dispatch(&route);
            }
            _ => self.park(seq),
        }
    }

    pub(super) fn park(&mut self, seq: u64) {
        let Some(task) = self.tasks.get_mut(&seq) else {
            return;
        };
        task.state = State::Changing;
        let op = Op::Park(task.subject(seq));
        self.submit(op, Token::Own(None));
    }

    /// Gives what waits for a route to whoever has room.
    pub(super) fn dispatch(&mut self, route: &Arc<str>) {
        if self.ending {
            return;
        }
        let mut from = (0, 0);
        while let Some(route) = self.routes.get_mut(route) {
            let Some(place) = route.ready.range(from..).next().copied() else {
                break;
            };
            let Some(task) = self.tasks.get(&place.1) else {
                debug_assert!(false, "what is ready is in memory");
                route.ready.remove(&place);
                continue;
            };
            let candidates = route.consumers.iter().copied();
            match choose(&self.consumers, candidates, &task.id, task.avoid) {
                Ok(consumer) => {
                    route.ready.remove(&place);
                    let hedge = route.hedge;
                    self.begin_round(place.1, consumer, hedge);
                }
                Err(Nobody::HasRoom) => break,
                Err(Nobody::MayHaveThisId) => from = (place.0, place.1 + 1),
            }
        }
        self.wait_for_room(route);
    }

    /// Has a route served again when one of its consumers has room.
    fn wait_for_room(&mut self, name: &Arc<str>) {
        let Some(route) = self.routes.get(name) else {
            return;
        };
        if route.ready.is_empty() && route.backlog.is_none() {
            return;
        }
        for consumer in &route.consumers {
            if let Some(state) = self.consumers.get_mut(consumer) {
                state.wait_for_room(name);
            }
        }
    }

    /// Serves the routes that wait for a connection to have room, each in its turn, as long as it has.
    pub(super) fn dispatch_for(&mut self, consumer: ConsumerId) {
        let Some(state) = self.consumers.get(&consumer) else {
            return;
        };
        for _ in 0..state.waiting() {
            let Some(route) = self
                .consumers
                .get_mut(&consumer)
                .and_then(Consumer::next_waiting)
            else {
                return;
            };
            self.dispatch(&route);
            self.refill(&route);
        }
    }

    fn begin_round(&mut self, seq: u64, consumer: ConsumerId, hedge: Option<std::time::Duration>) {
        let Some(task) = self.tasks.get_mut(&seq) else {
            return;
        };
        // An earlier task of this name may have left a copy there that is not answered: its number is not used again.
        let late = self
            .consumers
            .get(&consumer)
            .and_then(|state| state.late_attempt(&task.route, &task.id));
        task.attempt = task.attempt.max(late.unwrap_or(0)).saturating_add(1);
        let until = self.now.after(self.settings.ack_timeout);
        let round = hedge.map(|delay| {
            let round = self.rounds.begin(seq, consumer, until);
            self.effects.rounds.push((round, delay));
            round.number
        });
        task.state = State::InFlight {
            copies: Copies::one(consumer),
            round,
        };
        self.send_copy(seq, consumer, until);
    }

    /// Sends a copy of a task that is in flight, to be answered by then.
    pub(super) fn send_copy(&mut self, seq: u64, consumer: ConsumerId, until: Tick) {
        let (Some(task), Some(state)) = (self.tasks.get(&seq), self.consumers.get_mut(&consumer))
        else {
            return;
        };
        let timer = self.wheel.insert(
            until,
            Timer::Answer {
                consumer,
                id: task.id.clone(),
            },
        );
        state.give(
            task.id.clone(),
            Copy {
                route: task.route.clone(),
                seq,
                attempt: task.attempt,
                timer: Some(timer),
            },
        );
        self.effects.messages.push((
            consumer,
            Message::Deliver {
                seq,
                route: task.route.clone(),
                id: task.id.clone(),
                attempt: task.attempt,
            },
        ));
    }

    /// Whom the next copy of a hedged round goes to: to nobody who was asked.
    pub(super) fn next_for(&self, task: &Live, asked: &[ConsumerId]) -> Option<ConsumerId> {
        let route = self.routes.get(&task.route)?;
        let candidates = route
            .consumers
            .iter()
            .copied()
            .filter(|consumer| !asked.contains(consumer))
            .filter(|consumer| !self.would_confuse(*consumer, task));
        choose(&self.consumers, candidates, &task.id, None).ok()
    }

    /// Whether a consumer has left a copy of this name and round unanswered, of an earlier revision.
    fn would_confuse(&self, consumer: ConsumerId, task: &Live) -> bool {
        self.consumers
            .get(&consumer)
            .and_then(|state| state.late_attempt(&task.route, &task.id))
            .is_some_and(|late| late >= task.attempt)
    }

    /// Ends whatever goes on with a task, which stays in memory until what was asked for is on disk. Whoever else
    /// has a copy loses it; `answered` has none any more.
    pub(super) fn settle(&mut self, seq: u64, answered: Option<ConsumerId>) {
        let Some(task) = self.tasks.get_mut(&seq) else {
            return;
        };
        let before = mem::replace(&mut task.state, State::Changing);
        let (id, place, route) = (task.id.clone(), (task.at, seq), task.route.clone());
        match before {
            State::Armed { timer, .. } => {
                self.wheel.cancel(timer);
                self.window.armed -= 1;
            }
            State::Ready => {
                if let Some(route) = self.routes.get_mut(&route) {
                    route.ready.remove(&place);
                }
            }
            State::InFlight { copies, round } => {
                for consumer in copies.iter().filter(|other| Some(*other) != answered) {
                    self.lose(consumer, &id, seq);
                }
                self.end_round(round);
            }
            State::Changing => {}
        }
    }

    fn end_round(&mut self, round: Option<RoundNumber>) {
        if let Some(round) = round {
            self.rounds.end(round, &mut self.effects.fates);
        }
    }

    fn lose(&mut self, consumer: ConsumerId, id: &str, seq: u64) {
        let state = self.consumers.get_mut(&consumer);
        if state.is_some_and(|state| state.lose(id, seq)) {
            self.dispatch_for(consumer);
        }
    }

    /// A copy that nobody will answer: its credit returns, and its id is free.
    pub(super) fn unsent(&mut self, consumer: ConsumerId, id: &str, seq: u64) {
        let state = self.consumers.get_mut(&consumer);
        let copy = state.and_then(|state| state.unsent(id, seq));
        self.release(consumer, copy);
    }

    /// A copy is answered that somebody else has done: the answer is ignored, and the id is free.
    pub(super) fn lost_is_answered(&mut self, consumer: ConsumerId, named: &Named) -> bool {
        let state = self.consumers.get_mut(&consumer);
        let copy = state.and_then(|state| state.answered_lost(named));
        let found = copy.is_some();
        self.release(consumer, copy);
        found
    }

    pub(super) fn release(&mut self, consumer: ConsumerId, copy: Option<Copy>) {
        if let Some(copy) = copy {
            if let Some(timer) = copy.timer {
                self.wheel.cancel(timer);
            }
            self.dispatch_for(consumer);
        }
    }

    /// A task is gone from the disk, or has another revision: so it is from memory. Copies of it stay with their
    /// consumers, whose answers then change nothing.
    pub(super) fn drop_task(&mut self, seq: u64) -> Option<Dropped> {
        let task = self.tasks.remove(&seq)?;
        let in_flight = matches!(task.state, State::InFlight { .. });
        match task.state {
            State::Armed { timer, .. } => {
                self.wheel.cancel(timer);
                self.window.armed -= 1;
            }
            State::Ready => {
                if let Some(route) = self.routes.get_mut(&task.route) {
                    route.ready.remove(&(task.at, seq));
                }
            }
            State::InFlight { round, .. } => self.end_round(round),
            State::Changing => {}
        }
        Some(Dropped {
            attempt: task.attempt,
            in_flight,
        })
    }

    pub(super) fn unknown(&mut self, consumer: ConsumerId, named: Named, confirm: Option<Token>) {
        self.unknown_acks += 1;
        if let Some(Token::Reply { tag, weight, .. }) = confirm {
            let reply = Reply::Acked {
                id: named.id,
                route: named.route,
                removed: false,
            };
            self.reply(consumer, reply, tag, weight);
        }
    }

    pub(super) fn submit(&mut self, op: Op, token: Token) {
        self.promised.submitted(&op);
        self.effects.jobs.push(Job { op, token });
    }

    pub(super) fn reply(
        &mut self,
        consumer: ConsumerId,
        reply: Reply,
        tag: Option<Arc<str>>,
        weight: u32,
    ) {
        let message = Message::Reply { reply, tag, weight };
        self.effects.messages.push((consumer, message));
    }

    /// Reads what is parked for the routes that may have room for it.
    pub(super) fn refill_wanting(&mut self) {
        for route in mem::take(&mut self.wanting) {
            self.refill(&route);
        }
    }

    /// Reads a chunk of what is parked for a route, if there is room for it. If there was, there may be room for more,
    /// but others come first.
    pub(super) fn refill(&mut self, route: &Arc<str>) {
        match self.try_refill(route) {
            Ok(true) => {
                self.wanting.insert(route.clone());
            }
            Ok(false) => {}
            Err(error) => self.fail(error),
        }
    }

    pub(super) fn fail(&mut self, error: StoreError) {
        self.effects.failed.get_or_insert(error);
    }
}

/// The least busy of those that have room and no copy of that id; whoever let it down last only if there is
/// nobody else.
fn choose(
    consumers: &rustc_hash::FxHashMap<ConsumerId, Consumer>,
    candidates: impl Iterator<Item = ConsumerId>,
    id: &str,
    avoid: Option<ConsumerId>,
) -> Result<ConsumerId, Nobody> {
    let mut best: Option<((bool, usize), ConsumerId)> = None;
    let mut nobody = Nobody::HasRoom;
    for candidate in candidates {
        let Some(consumer) = consumers.get(&candidate) else {
            continue;
        };
        if !consumer.has_room() {
            continue;
        }
        if consumer.holds(id) {
            nobody = Nobody::MayHaveThisId;
            continue;
        }
        let rank = (avoid == Some(candidate), consumer.load());
        if best.is_none_or(|(least, _)| rank < least) {
            best = Some((rank, candidate));
        }
        if rank == (false, 0) {
            break;
        }
    }
    best.map(|(_, consumer)| consumer).ok_or(nobody)
}

/// When a retry of this token is due.
pub(super) const fn due_of(token: &Token) -> Option<Tick> {
    match token {
        Token::Own(due) => *due,
        Token::Reply { .. } => None,
    }
}
