//! Tells whether the threads of a server make progress.

#[cfg(feature = "cli")]
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

/// What a server has reached.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The thread of the scheduler.
    pub(crate) scheduler: Pulse,
    /// The threads of the committer.
    pub(crate) applier: Pulse,
    pub(crate) writer: Pulse,
    /// The threads of the shards of a node.
    #[cfg(any(feature = "cluster", test))]
    shards: std::sync::OnceLock<Box<[Pulse]>>,
    is_listening: watch::Sender<bool>,
    /// The number of configurations that were applied or refused.
    answered: watch::Sender<u64>,
}

impl Progress {
    /// Notes that the store is open and the server accepts connections.
    pub(crate) fn listens(&self) {
        self.is_listening.send_replace(true);
    }

    /// Notes that a new configuration is in force, or was refused.
    pub(crate) fn answered(&self) {
        self.answered.send_modify(|count| *count += 1);
    }
}

#[cfg(any(feature = "cluster", test))]
impl Progress {
    /// Returns the pulse of the thread of a shard, one of `shards`.
    pub(crate) fn of_shard(&self, shard: u16, shards: u16) -> &Pulse {
        let all = || (0..shards).map(|_| Pulse::default()).collect();
        let pulses = self.shards.get_or_init(all);
        &pulses[usize::from(shard)]
    }
}

/// What the command line asks: an embedding program does not need it.
#[cfg(feature = "cli")]
impl Progress {
    /// Resolves when the server listens.
    pub(crate) async fn listening(&self) {
        let mut listening = self.is_listening.subscribe();
        // The sender is in `self`, so it cannot be gone.
        let _ = listening.wait_for(|listening| *listening).await;
    }

    pub(crate) fn is_listening(&self) -> bool {
        *self.is_listening.borrow()
    }

    /// Returns a receiver of the number of configurations that were applied or refused.
    pub(crate) fn reloads(&self) -> watch::Receiver<u64> {
        self.answered.subscribe()
    }

    /// Returns the names of the threads that have worked on the same thing since the last call with
    /// the same `last`. A thread that waits for work is not one of them.
    pub(crate) fn stuck(&self, last: &mut Beats) -> Vec<Cow<'static, str>> {
        let threads: [(Cow<'static, str>, &Pulse); 3] = [
            ("scheduler".into(), &self.scheduler),
            ("applier".into(), &self.applier),
            ("writer".into(), &self.writer),
        ];
        let threads = threads.into_iter().chain(self.shards());
        let mut stuck = Vec::new();
        for (place, (name, pulse)) in threads.enumerate() {
            let beats = pulse.beats();
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
    fn shards(&self) -> impl Iterator<Item = (Cow<'static, str>, &Pulse)> {
        #[cfg(any(feature = "cluster", test))]
        let pulses = self.shards.get().map_or(&[] as &[Pulse], |pulses| pulses);
        #[cfg(not(any(feature = "cluster", test)))]
        let pulses: &[Pulse] = &[];
        let numbered = pulses.iter().enumerate();
        numbered.map(|(shard, pulse)| (format!("shard {shard}").into(), pulse))
    }
}

/// The beats of the threads at one moment.
#[cfg(feature = "cli")]
#[derive(Debug, Default)]
pub(crate) struct Beats(Vec<u64>);

/// A count that only one thread changes: even while it waits for work, odd while it works.
#[derive(Debug, Default)]
pub(crate) struct Pulse(AtomicU64);

impl Pulse {
    /// Notes that the thread begins to work.
    pub(crate) fn works(&self) {
        self.set(|beats| (beats + 2) | 1);
    }

    /// Notes that the thread is about to wait for work.
    pub(crate) fn rests(&self) {
        self.set(|beats| (beats + 2) & !1);
    }

    fn set(&self, next: impl FnOnce(u64) -> u64) {
        // No read-modify-write: there is one writer.
        self.0
            .store(next(self.0.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    #[cfg(feature = "cli")]
    fn beats(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;

    const NONE: [&str; 0] = [];

    #[test]
    fn a_thread_that_waits_is_not_stuck() {
        let (progress, mut last) = (Progress::default(), Beats::default());
        for _ in 0..3 {
            assert_eq!(progress.stuck(&mut last), NONE);
        }
        progress.writer.works();
        progress.writer.rests();
        for _ in 0..3 {
            assert_eq!(progress.stuck(&mut last), NONE);
        }
    }

    #[test]
    fn a_thread_that_works_on_the_same_since_the_last_call_is_stuck() {
        let (progress, mut last) = (Progress::default(), Beats::default());
        for (name, pulse) in [
            ("scheduler", &progress.scheduler),
            ("applier", &progress.applier),
            ("writer", &progress.writer),
            ("shard 1", progress.of_shard(1, 2)),
        ] {
            pulse.works();
            assert_eq!(progress.stuck(&mut last), NONE, "it has just begun");
            assert_eq!(progress.stuck(&mut last), [name]);
            pulse.works();
            assert_eq!(progress.stuck(&mut last), NONE, "it does something else");
            assert_eq!(progress.stuck(&mut last), [name]);
            pulse.rests();
            assert_eq!(progress.stuck(&mut last), NONE);
            assert_eq!(progress.stuck(&mut last), NONE);
        }
    }

    #[test]
    fn work_that_ends_and_begins_between_two_calls_is_progress() {
        let (progress, mut last) = (Progress::default(), Beats::default());
        for _ in 0..3 {
            progress.writer.works();
            assert_eq!(progress.stuck(&mut last), NONE);
            progress.writer.rests();
        }
    }

    #[tokio::test]
    async fn listening_resolves_once_the_server_listens() {
        let progress = Progress::default();
        assert!(!progress.is_listening());
        progress.listens();
        progress.listening().await;
        assert!(progress.is_listening());
    }
}
