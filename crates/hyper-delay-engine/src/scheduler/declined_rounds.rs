//! Rounds of a task that ended without an ack and without a failure.
//!
//! Nothing of their copies was written, or their consumers have declined them. The task is
//! due again at once; those consumers rest until its first backoff has passed, so that a task does
//! not go back and forth between the server and a consumer that does not want it.

use race_wheel::Tick;

use super::ConsumerId;

/// The most rounds in a row that end so. Each one after them is a failure.
const MOST: u8 = 10;

/// The rounds without a failure since the last one that failed. In memory only.
#[derive(Debug, Default)]
pub(super) struct DeclinedRounds {
    rounds: u8,
    /// The consumers that had copies, and until when they get no other one.
    resting: Vec<(ConsumerId, Tick)>,
}

impl DeclinedRounds {
    /// Counts one more round that ended without a failure. Returns whether the limit is passed, so that
    /// this round counts as failed.
    pub(super) const fn add_round(&mut self) -> bool {
        self.rounds = self.rounds.saturating_add(1);
        self.rounds > MOST
    }

    /// A consumer that had a copy rests.
    pub(super) fn add_rest(&mut self, consumer: ConsumerId, until: Tick, now: Tick) {
        self.resting.retain(|(_, until)| *until > now);
        self.resting.push((consumer, until));
    }

    /// Returns when the first of the consumers that rest does so no longer.
    pub(super) fn first_rest_end(&self, now: Tick) -> Option<Tick> {
        let ends = self.resting.iter().map(|(_, until)| *until);
        ends.filter(|until| *until > now).min()
    }

    /// Returns until when a consumer rests, if it does.
    pub(super) fn rests_until(&self, consumer: ConsumerId, now: Tick) -> Option<Tick> {
        let of_it = self.resting.iter().filter(|(it, _)| *it == consumer);
        let until = of_it.map(|(_, until)| *until).max();
        until.filter(|until| *until > now)
    }
}

/// The consumers of a task that are chosen last or not at all.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AvoidedConsumers<'a> {
    /// This one is chosen last.
    pub(super) last: Option<ConsumerId>,
    /// Those that rest are not chosen.
    pub(super) declined: Option<&'a DeclinedRounds>,
}

impl AvoidedConsumers<'_> {
    /// Returns until when a consumer rests, if it does.
    pub(super) fn rests_until(&self, consumer: ConsumerId, now: Tick) -> Option<Tick> {
        self.declined?.rests_until(consumer, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_after_the_tenth_is_a_failure() {
        let mut declined = DeclinedRounds::default();
        for round in 1..=300 {
            assert_eq!(declined.add_round(), round > 10, "{round}");
        }
    }

    #[test]
    fn a_consumer_rests_until_its_time_is_over() {
        let mut declined = DeclinedRounds::default();
        let at = Tick::new;
        declined.add_rest(1, at(10), at(0));
        declined.add_rest(2, at(20), at(5));
        assert_eq!(declined.rests_until(1, at(9)), Some(at(10)));
        assert_eq!(declined.rests_until(1, at(10)), None);
        assert_eq!(declined.rests_until(3, at(0)), None);
        declined.add_rest(1, at(30), at(12));
        assert_eq!(declined.rests_until(1, at(12)), Some(at(30)));
        assert_eq!(declined.rests_until(2, at(12)), Some(at(20)));
        assert_eq!(declined.resting.len(), 2, "what is over is forgotten");
    }
}
