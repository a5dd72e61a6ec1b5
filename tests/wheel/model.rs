//! Random scripts, run on a wheel and on an ordered map, which must agree after every step.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*, sample::Index};
use race_wheel::{Key, Tick, Wheel};

use crate::cases;

#[derive(Clone, Debug)]
enum Step {
    /// One timer per element, this long after now, or before it if negative.
    Insert(Vec<i64>),
    /// This many timers with the same deadline.
    InsertMany(i64, usize),
    InsertForNever,
    Cancel(Index),
    /// Cancels this many armed timers.
    CancelMany(Index, usize),
    Reschedule(Index, i64),
    Change(Index),
    /// Uses a stale key.
    Stale(Index),
    /// Polls this much later.
    Poll(u64),
    /// Polls with an earlier time than the last.
    PollBack(u64),
    PollNextDeadline,
    /// Polls later and takes this many values.
    PollSome(u64, usize),
    /// Polls later with this limit until nothing is due, and inserts one timer in between.
    PollLimited(u64, usize, i64),
    Clear,
}

/// From zero to ten years, short ones as likely as long ones.
fn jump() -> impl Strategy<Value = u64> {
    const TEN_YEARS: u64 = 10 * 365 * 86_400 * 1_000_000_000;
    (0..59_u32, any::<u64>()).prop_map(|(bits, random)| (random % (1 << bits)).min(TEN_YEARS))
}

/// A delay from now; one in eight is negative.
fn delay() -> impl Strategy<Value = i64> {
    (jump(), 0..8).prop_map(|(jump, sign)| {
        if sign == 0 {
            -(jump as i64)
        } else {
            jump as i64
        }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let one = any::<Index>;
    prop_oneof![
        12 => vec(delay(), 1..8).prop_map(Step::Insert),
        1 => vec(delay(), 100..300).prop_map(Step::Insert),
        2 => (delay(), 2..900_usize).prop_map(|(delay, count)| Step::InsertMany(delay, count)),
        1 => Just(Step::InsertForNever),
        6 => one().prop_map(Step::Cancel),
        2 => (one(), 1..900_usize).prop_map(|(from, count)| Step::CancelMany(from, count)),
        5 => (one(), delay()).prop_map(|(which, delay)| Step::Reschedule(which, delay)),
        1 => one().prop_map(Step::Change),
        3 => one().prop_map(Step::Stale),
        8 => jump().prop_map(Step::Poll),
        1 => jump().prop_map(Step::PollBack),
        8 => Just(Step::PollNextDeadline),
        4 => (jump(), 0..5_usize).prop_map(|(jump, count)| Step::PollSome(jump, count)),
        4 => (jump(), 1..600_usize, delay())
            .prop_map(|(jump, limit, delay)| Step::PollLimited(jump, limit, delay)),
        1 => Just(Step::Clear),
    ]
}

/// The wheel and the model.
struct Run {
    wheel: Wheel<u64>,
    resolution: u64,
    /// By deadline in multiples of the resolution, rounded up, then by insertion.
    model: BTreeMap<(u64, u64), u64>,
    /// The armed timers, and their keys in the model.
    keys: Vec<(Key, (u64, u64))>,
    stale: Vec<Key>,
    inserted: u64,
    /// The latest time so far, in ticks.
    now: u64,
    /// Whether a timer was cancelled or rescheduled since the wheel was empty.
    cancelled: bool,
}

impl Run {
    fn play(resolution: u64, start: u64, script: Vec<Step>) {
        let mut run = Self {
            wheel: Wheel::new(resolution),
            resolution,
            model: BTreeMap::new(),
            keys: Vec::new(),
            stale: Vec::new(),
            inserted: 0,
            now: 0,
            cancelled: false,
        };
        run.poll(start, usize::MAX);
        for step in script {
            run.step(step);
            run.check();
        }
        // From deadline to deadline, until only timers that never expire are left.
        while let Some(deadline) = run.wheel.next_deadline() {
            run.poll(deadline.value(), usize::MAX);
            run.check();
        }
        assert!(run.model.keys().all(|(tick, _)| *tick > run.end()));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Insert(delays) => delays
                .into_iter()
                .for_each(|delay| self.insert(self.at(delay))),
            Step::InsertMany(delay, count) => (0..count).for_each(|_| self.insert(self.at(delay))),
            Step::InsertForNever => self.insert(u64::MAX),
            Step::Cancel(which) => self.cancel(which, 1),
            Step::CancelMany(which, count) => self.cancel(which, count),
            Step::Reschedule(which, delay) => self.reschedule(which, delay),
            Step::Change(which) => {
                if let Some((key, place)) = self.pick(which) {
                    *self.wheel.get_mut(key).unwrap() += 1 << 32;
                    *self.model.get_mut(&place).unwrap() += 1 << 32;
                }
            }
            Step::Stale(which) => {
                if !self.stale.is_empty() {
                    let key = *which.get(&self.stale);
                    assert_eq!(self.wheel.get(key), None);
                    assert_eq!(self.wheel.cancel(key), None);
                    assert_eq!(self.wheel.reschedule(key, Tick::ZERO), None);
                }
            }
            Step::Poll(jump) => self.poll(self.now.saturating_add(jump), usize::MAX),
            Step::PollBack(jump) => self.poll(self.now.saturating_sub(jump), usize::MAX),
            Step::PollNextDeadline => {
                let deadline = self.wheel.next_deadline();
                let nanos = deadline.map_or(self.now, Tick::value);
                self.poll(nanos, usize::MAX);
            }
            Step::PollSome(jump, count) => self.poll(self.now.saturating_add(jump), count),
            Step::PollLimited(jump, limit, delay) => {
                self.poll_limited(self.now.saturating_add(jump), limit, delay);
            }
            Step::Clear => {
                self.wheel.clear();
                self.model.clear();
                self.stale.extend(self.keys.drain(..).map(|(key, _)| key));
                self.cancelled = false;
            }
        }
    }

    fn at(&self, delay: i64) -> u64 {
        self.now.saturating_add_signed(delay)
    }

    /// The latest time that a poll can have, in multiples of the resolution.
    fn end(&self) -> u64 {
        (u64::MAX - 1) / self.resolution
    }

    fn pick(&self, which: Index) -> Option<(Key, (u64, u64))> {
        (!self.keys.is_empty()).then(|| *which.get(&self.keys))
    }

    fn place(&mut self, at: u64) -> (u64, u64) {
        self.inserted += 1;
        (at.div_ceil(self.resolution), self.inserted)
    }

    fn insert(&mut self, at: u64) {
        let place = self.place(at);
        let key = self.wheel.insert(Tick::new(at), place.1);
        self.model.insert(place, place.1);
        self.keys.push((key, place));
    }

    fn cancel(&mut self, which: Index, count: usize) {
        for _ in 0..count {
            let Some((key, place)) = self.pick(which) else {
                return;
            };
            self.keys.retain(|it| it.0 != key);
            assert_eq!(self.wheel.get(key), self.model.get(&place));
            assert_eq!(self.wheel.cancel(key), self.model.remove(&place));
            self.stale.push(key);
            self.cancelled = true;
        }
    }

    fn reschedule(&mut self, which: Index, delay: i64) {
        let Some((old, place)) = self.pick(which) else {
            return;
        };
        let at = self.at(delay);
        let new = self.wheel.reschedule(old, Tick::new(at)).unwrap();
        let value = self.model.remove(&place).unwrap();
        let place = self.place(at);
        self.model.insert(place, value);
        self.keys.retain(|it| it.0 != old);
        self.keys.push((new, place));
        self.stale.push(old);
        self.cancelled = true;
    }

    /// Polls and takes up to `count` values.
    fn poll(&mut self, now: u64, count: usize) {
        self.now = self.now.max(now);
        let time = self.now.min(u64::MAX - 1) / self.resolution;
        let mut expired = self.wheel.poll(Tick::new(now));
        for _ in 0..count {
            let first = self.model.first_entry().filter(|it| it.key().0 <= time);
            let place = first.as_ref().map(|it| *it.key());
            let value = first.map(|it| it.remove());
            assert_eq!(expired.next(), value);
            let Some(place) = place else { break };
            let index = self.keys.iter().position(|it| it.1 == place).unwrap();
            self.stale.push(self.keys.swap_remove(index).0);
        }
    }

    /// Polls with a limit until nothing is due. Inserts a timer after the first poll, when a bucket
    /// may be open.
    fn poll_limited(&mut self, now: u64, limit: usize, delay: i64) {
        self.now = self.now.max(now);
        let mut delay = Some(delay);
        loop {
            for value in self.wheel.poll_limited(Tick::new(now), limit) {
                let (place, expected) = self.model.pop_first().unwrap();
                assert_eq!(value, expected);
                let index = self.keys.iter().position(|it| it.1 == place).unwrap();
                self.stale.push(self.keys.swap_remove(index).0);
            }
            if let Some(delay) = delay.take() {
                self.insert(self.at(delay));
            }
            let now = Tick::new(self.now);
            if self.wheel.next_deadline().is_none_or(|next| next > now) {
                break;
            }
            assert_eq!(self.wheel.len(), self.model.len());
        }
        let due = self.now.min(u64::MAX - 1) / self.resolution;
        assert!(self.model.keys().all(|(time, _)| *time > due));
    }

    fn check(&mut self) {
        assert_eq!(self.wheel.len(), self.model.len());
        assert_eq!(self.wheel.is_empty(), self.model.is_empty());
        if self.model.is_empty() && self.wheel.next_deadline().is_none() {
            self.cancelled = false;
        }
        let first = self.model.keys().next().map(|(time, _)| *time);
        let first = first.filter(|time| *time <= self.end());
        let first = first.map(|time| Tick::new(time * self.resolution));
        let found = self.wheel.next_deadline();
        if self.cancelled {
            assert!(
                first.is_none() || found <= first,
                "{found:?} after {first:?}"
            );
            assert!(found.is_some() || first.is_none());
        } else {
            assert_eq!(found, first);
        }
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn wheel_agrees_with_ordered_map(
        resolution in prop_oneof![Just(1_000), Just(1_000_000), Just(1_000_000_000)],
        start in jump(),
        script in vec(step(), 0..80),
    ) {
        Run::play(resolution, start, script);
    }
}

proptest! {
    #![proptest_config(cases(50))]

    #[test]
    fn wheel_agrees_with_ordered_map_at_any_resolution_up_to_the_last_tick(
        resolution in (0..64_u32, any::<u64>()).prop_map(|(bits, random)| 1 + random % (1 << bits)),
        start in prop_oneof![jump(), jump().prop_map(|jump| u64::MAX - jump)],
        script in vec(step(), 0..40),
    ) {
        Run::play(resolution, start, script);
    }
}
