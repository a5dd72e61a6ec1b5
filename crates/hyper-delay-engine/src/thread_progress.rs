//! The pulses of the threads of a server, by which one that is stuck is noticed.

use std::{
    borrow::Cow,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// The pulse of each thread.
#[derive(Debug, Default)]
pub struct ThreadProgress {
    /// The thread of the scheduler.
    pub scheduler: ProgressCounter,
    /// The threads of the committer.
    pub(crate) applier: ProgressCounter,
    pub(crate) writer: ProgressCounter,
    /// The threads of the shards of a node.
    shards: OnceLock<Box<[ProgressCounter]>>,
}

impl ThreadProgress {
    /// Returns the pulse of the thread of a shard, one of `shards`.
    pub fn of_shard(&self, shard: u16, shards: u16) -> &ProgressCounter {
        let all = || (0..shards).map(|_| ProgressCounter::default()).collect();
        let pulses = self.shards.get_or_init(all);
        &pulses[usize::from(shard)]
    }

    /// Returns the names of the threads that have worked on the same thing since the last call with
    /// the same `last`. A thread that waits for work is not one of them.
    pub fn stuck_threads(&self, last: &mut ProgressSnapshot) -> Vec<Cow<'static, str>> {
        let threads: [(Cow<'static, str>, &ProgressCounter); 3] = [
            ("scheduler".into(), &self.scheduler),
            ("applier".into(), &self.applier),
            ("writer".into(), &self.writer),
        ];
        let threads = threads.into_iter().chain(self.shards());
        let mut stuck = Vec::new();
        for (place, (name, pulse)) in threads.enumerate() {
            let beats = pulse.value();
            if place == last.0.len() {
                last.0.push(0);
            }
            let last = &mut last.0[place];
            if beats % 2 == 1 && beats == *last {
                stuck.push(name);
            }
            *last = beats;
        }
        stuck
    }

    /// Returns the threads of shards with their names.
    fn shards(&self) -> impl Iterator<Item = (Cow<'static, str>, &ProgressCounter)> {
        let pulses = self
            .shards
            .get()
            .map_or(&[] as &[ProgressCounter], |pulses| pulses);
        let numbered = pulses.iter().enumerate();
        numbered.map(|(shard, pulse)| (format!("shard {shard}").into(), pulse))
    }
}

/// The beats of the threads at one moment.
#[derive(Debug, Default)]
pub struct ProgressSnapshot(Vec<u64>);

/// A count that only one thread changes: even while it waits for work, odd while it works.
#[derive(Debug, Default)]
pub struct ProgressCounter(AtomicU64);

impl ProgressCounter {
    /// Notes that the thread begins to work.
    pub fn begin_work(&self) {
        self.set(|beats| (beats + 2) | 1);
    }

    /// Notes that the thread is about to wait for work.
    pub fn begin_wait(&self) {
        self.set(|beats| (beats + 2) & !1);
    }

    fn set(&self, next: impl FnOnce(u64) -> u64) {
        // No read-modify-write: there is one writer.
        self.0
            .store(next(self.0.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [&str; 0] = [];

    #[test]
    fn a_thread_that_waits_is_not_stuck() {
        let (pulses, mut last) = (ThreadProgress::default(), ProgressSnapshot::default());
        for _ in 0..3 {
            assert_eq!(pulses.stuck_threads(&mut last), NONE);
        }
        pulses.writer.begin_work();
        pulses.writer.begin_wait();
        for _ in 0..3 {
            assert_eq!(pulses.stuck_threads(&mut last), NONE);
        }
    }

    #[test]
    fn a_thread_that_works_on_the_same_since_the_last_call_is_stuck() {
        let (pulses, mut last) = (ThreadProgress::default(), ProgressSnapshot::default());
        for (name, pulse) in [
            ("scheduler", &pulses.scheduler),
            ("applier", &pulses.applier),
            ("writer", &pulses.writer),
            ("shard 1", pulses.of_shard(1, 2)),
        ] {
            pulse.begin_work();
            assert_eq!(pulses.stuck_threads(&mut last), NONE, "it has just begun");
            assert_eq!(pulses.stuck_threads(&mut last), [name]);
            pulse.begin_work();
            assert_eq!(
                pulses.stuck_threads(&mut last),
                NONE,
                "it does something else"
            );
            assert_eq!(pulses.stuck_threads(&mut last), [name]);
            pulse.begin_wait();
            assert_eq!(pulses.stuck_threads(&mut last), NONE);
            assert_eq!(pulses.stuck_threads(&mut last), NONE);
        }
    }

    #[test]
    fn work_that_ends_and_begins_between_two_calls_is_progress() {
        let (pulses, mut last) = (ThreadProgress::default(), ProgressSnapshot::default());
        for _ in 0..3 {
            pulses.writer.begin_work();
            assert_eq!(pulses.stuck_threads(&mut last), NONE);
            pulses.writer.begin_wait();
        }
    }
}
