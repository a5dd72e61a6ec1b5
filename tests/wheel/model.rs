//! Random scripts, played on a wheel and on an ordered map, which must agree after every step.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*, sample::Index};
use race_wheel::{Key, Tick, Wheel};

use crate::cases;

#[derive(Clone, Debug)]
enum Step {
    /// So many, each so long after now, or before it.
    Insert(Vec<i64>),
    /// At the same moment.
    InsertMany(i64, usize),
    InsertForNever,
    Cancel(Index),
    /// From this on, so many of those armed.
    CancelMany(Index, usize),
    Reschedule(Index, i64),
    Change(Index),
    /// A key that is stale.
    Stale(Index),
    /// So much later.
    Poll(u64),
    /// For an earlier moment than the last.
    PollBack(u64),
    PollNextDeadline,
    /// And ask for so many.
    PollSome(u64, usize),
    Clear,
}

/// From nothing to ten years, as likely short as long.
fn jump() -> impl Strategy<Value = u64> {
    const TEN_YEARS: u64 = 10 * 365 * 86_400 * 1_000_000_000;
    (0..59_u32, any::<u64>()).prop_map(|(bits, random)| (random % (1 << bits)).min(TEN_YEARS))
}

/// A deadline from now on, one in eight in the past.
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
        2 => (delay(), 2..200_usize).prop_map(|(delay, count)| Step::InsertMany(delay, count)),
        1 => Just(Step::InsertForNever),
        6 => one().prop_map(Step::Cancel),
        2 => (one(), 1..300_usize).prop_map(|(from, count)| Step::CancelMany(from, count)),
        5 => (one(), delay()).prop_map(|(which, delay)| Step::Reschedule(which, delay)),
        1 => one().prop_map(Step::Change),
        3 => one().prop_map(Step::Stale),
        8 => jump().prop_map(Step::Poll),
        1 => jump().prop_map(Step::PollBack),
        8 => Just(Step::PollNextDeadline),
        4 => (jump(), 0..5_usize).prop_map(|(jump, count)| Step::PollSome(jump, count)),
        1 => Just(Step::Clear),
    ]
}

/// The wheel, and what it should be.
struct Run {
    wheel: Wheel<u64>,
    resolution: u64,
    /// By deadline in ticks, rounded up, then by insertion.
    model: BTreeMap<(u64, u64), u64>,
    /// Of all that are armed, where they are in the model.
    keys: Vec<(Key, (u64, u64))>,
    stale: Vec<Key>,
    inserted: u64,
    /// Nanoseconds, the latest so far.
    now: u64,
    /// Whether a timer has left before its time since the last poll that emptied the wheel.
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
        // From deadline to deadline, till nothing is left but what never comes.
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

    /// The last tick that comes.
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

    /// Polls, and asks for so many.
    fn poll(&mut self, now: u64, count: usize) {
        self.now = self.now.max(now);
        let tick = self.now.min(u64::MAX - 1) / self.resolution;
        let mut expired = self.wheel.poll(Tick::new(now));
        for _ in 0..count {
            let first = self.model.first_entry().filter(|it| it.key().0 <= tick);
            let place = first.as_ref().map(|it| *it.key());
            let value = first.map(|it| it.remove());
            assert_eq!(expired.next(), value);
            let Some(place) = place else { break };
            let index = self.keys.iter().position(|it| it.1 == place).unwrap();
            self.stale.push(self.keys.swap_remove(index).0);
        }
    }

    fn check(&mut self) {
        assert_eq!(self.wheel.len(), self.model.len());
        assert_eq!(self.wheel.is_empty(), self.model.is_empty());
        if self.model.is_empty() && self.wheel.next_deadline().is_none() {
            self.cancelled = false;
        }
        let first = self.model.keys().next().map(|(tick, _)| *tick);
        let first = first.filter(|tick| *tick <= self.end());
        let first = first.map(|tick| Tick::new(tick * self.resolution));
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
    fn a_wheel_does_as_an_ordered_map_does(
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
    fn at_any_resolution_and_to_the_end_of_time(
        resolution in (0..64_u32, any::<u64>()).prop_map(|(bits, random)| 1 + random % (1 << bits)),
        start in prop_oneof![jump(), jump().prop_map(|jump| u64::MAX - jump)],
        script in vec(step(), 0..40),
    ) {
        Run::play(resolution, start, script);
    }
}
