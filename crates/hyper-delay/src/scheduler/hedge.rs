//! Hedged rounds: a task goes to the next consumer when the first takes too long.
//!
//! The race itself, which says when the next copy is due, runs beside the scheduler (`crate::hedging`). Here is
//! who has which copy, and what came of it.

use race_wheel::Tick;
use rustc_hash::FxHashMap;

use super::{ConsumerId, Scheduler, live::State};
use crate::store::Store;

/// A hedged round, by a number that is never used again.
pub(super) type RoundNumber = u64;

/// A copy of a hedged round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Round {
    /// Which round.
    pub number: u64,
    /// Which copy of it: 0 is the first.
    pub place: usize,
}

/// What came of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The round is over: somebody acknowledged, or there is nothing left to deliver.
    Over,
    /// It failed.
    Failed,
    /// There was nobody to send it to.
    Nobody,
}

/// The hedged rounds under way.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    next: RoundNumber,
    rounds: FxHashMap<RoundNumber, Copies>,
}

#[derive(Debug)]
struct Copies {
    seq: u64,
    /// Who was asked, by place.
    asked: Vec<ConsumerId>,
    /// Of whom nothing more is to be expected.
    failed: Vec<bool>,
    /// When the round has failed, whoever was asked when.
    until: Tick,
    /// What the last that gave it back wants.
    delay_ms: Option<u64>,
}

impl Rounds {
    pub(super) fn begin(&mut self, seq: u64, consumer: ConsumerId, until: Tick) -> Round {
        let number = self.next;
        self.next += 1;
        let copies = Copies {
            seq,
            asked: vec![consumer],
            failed: vec![false],
            until,
            delay_ms: None,
        };
        self.rounds.insert(number, copies);
        Round { number, place: 0 }
    }

    /// The round is over, however.
    pub(super) fn end(&mut self, number: RoundNumber, fates: &mut Vec<(Round, Fate)>) {
        if let Some(copies) = self.rounds.remove(&number) {
            let places = copies.failed.iter().enumerate();
            fates.extend(
                places
                    .filter(|(_, failed)| !**failed)
                    .map(|(place, _)| (Round { number, place }, Fate::Over)),
            );
        }
    }
}

impl<S: Store> Scheduler<S> {
    /// The race asks for a copy, or what came of one.
    pub(super) fn hedge_copy(&mut self, round: Round) {
        let Some(copies) = self.rounds.rounds.get(&round.number) else {
            self.effects.fates.push((round, Fate::Over));
            return;
        };
        if let Some(failed) = copies.failed.get(round.place) {
            if *failed {
                self.effects.fates.push((round, Fate::Failed));
            }
            return;
        }
        let (seq, until) = (copies.seq, copies.until);
        let next = self
            .tasks
            .get(&seq)
            .and_then(|task| self.next_for(task, &copies.asked));
        let Some(consumer) = next else {
            self.effects.fates.push((round, Fate::Nobody));
            return;
        };
        if let Some(copies) = self.rounds.rounds.get_mut(&round.number) {
            copies.asked.push(consumer);
            copies.failed.push(false);
        }
        if let Some(task) = self.tasks.get_mut(&seq)
            && let State::InFlight { copies, .. } = &mut task.state
        {
            copies.push(consumer);
        }
        self.send_copy(seq, consumer, until);
    }

    /// A copy of a hedged round has failed; the race decides what follows.
    pub(super) fn hedge_failed(
        &mut self,
        number: RoundNumber,
        consumer: ConsumerId,
        delay_ms: Option<u64>,
    ) {
        let Some(copies) = self.rounds.rounds.get_mut(&number) else {
            return;
        };
        copies.delay_ms = delay_ms;
        if let Some(place) = copies.asked.iter().position(|asked| *asked == consumer) {
            copies.failed[place] = true;
            self.effects
                .fates
                .push((Round { number, place }, Fate::Failed));
        }
    }

    /// The time for an answer is up: the race is over, whoever could still be asked.
    pub(super) fn hedge_overdue(&mut self, number: RoundNumber, consumer: ConsumerId) {
        let Some(copies) = self.rounds.rounds.get(&number) else {
            return;
        };
        let seq = copies.seq;
        self.rounds.end(number, &mut self.effects.fates);
        if let Some(task) = self.tasks.get_mut(&seq) {
            task.avoid = Some(consumer);
        }
        self.round_failed(seq, None);
    }

    /// The race is lost: every copy has failed, and there was nobody left to ask.
    pub(super) fn hedge_lost(&mut self, number: RoundNumber) {
        let Some(copies) = self.rounds.rounds.remove(&number) else {
            return;
        };
        let in_round = self.tasks.get(&copies.seq).is_some_and(
            |task| matches!(task.state, State::InFlight { round, .. } if round == Some(number)),
        );
        if in_round {
            self.round_failed(copies.seq, copies.delay_ms);
        }
    }
}
