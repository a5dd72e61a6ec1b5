//! The wall clocks of the nodes to which there is a link.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time;

use crate::{clock_check::ClockCheck, log::NodeName};
use hyper_delay_engine::clock::{Clock, Now};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::link::clocks";

/// The interval at which each side of a link asks for the time.
pub(super) const PERIOD: Duration = Duration::from_secs(2);

/// Compares the wall clock of this node with those of others.
pub(crate) struct PeerClocks {
    clock: Clock,
    state: Mutex<PeerClocksState>,
    tell: Box<dyn Fn(bool) + Send + Sync>,
}

#[derive(Debug, Default)]
struct PeerClocksState {
    check: ClockCheck,
    is_off: bool,
}

impl PeerClocks {
    /// `tell` is called when the clock of this node becomes wrong or right.
    pub(crate) fn new(clock: Clock, tell: impl Fn(bool) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            clock,
            state: Mutex::default(),
            tell: Box::new(tell),
        })
    }

    pub(super) fn now(&self) -> Now {
        self.clock.now()
    }

    /// A node has answered a request that was sent then with its time.
    pub(super) fn record(&self, node: &NodeName, sent: Now, wall_nanos: u64) {
        let now = self.now();
        let mut state = self.lock();
        state.check.record(node.clone(), sent, wall_nanos, now);
        self.update(state, now);
    }

    /// Checks the clock of this node from time to time, as it can be set, until the future is
    /// dropped.
    pub(crate) async fn watch(&self) {
        loop {
            time::sleep(PERIOD).await;
            self.check();
        }
    }

    /// Compares the clock of this node with what is known of the others. Returns whether it is
    /// wrong.
    pub(crate) fn check(&self) -> bool {
        let now = self.now();
        self.update(self.lock(), now)
    }

    fn update(&self, mut state: MutexGuard<'_, PeerClocksState>, now: Now) -> bool {
        let is_off = state.check.is_off(now);
        if state.is_off == is_off {
            return is_off;
        }
        state.is_off = is_off;
        if is_off {
            let different = state.check.deviating(now);
            let different = different.map(|(node, millis)| format!("{node} by {millis} ms"));
            let different: Vec<_> = different.collect();
            tracing::error!(
                target: TARGET,
                different = %different.join(", "),
                "the clock of this node differs from those of most nodes: it leads no shards until \
                 the clock is right; set it, and let NTP keep it",
            );
        } else {
            tracing::info!(
                target: TARGET,
                "the clock of this node agrees with those of most nodes again",
            );
        }
        // Under the lock: the calls have the order of the changes.
        (self.tell)(is_off);
        is_off
    }

    fn lock(&self) -> MutexGuard<'_, PeerClocksState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for PeerClocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PeerClocks");
        shown.field("state", &self.state).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_told_once() {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let changes = reported.clone();
        let clocks = PeerClocks::new(Clock::new(), move |is_off| {
            changes.lock().unwrap().push(is_off);
        });
        let record_offset = |node: &str, ahead: u64| {
            let now = clocks.now();
            clocks.record(&node.into(), now, now.wall_nanos + ahead * 1_000_000_000);
        };
        record_offset("b", 3_600);
        clocks.check();
        assert!(reported.lock().unwrap().is_empty(), "one against one");
        record_offset("c", 3_600);
        record_offset("c", 3_600);
        clocks.check();
        assert_eq!(*reported.lock().unwrap(), [true]);
        record_offset("b", 0);
        record_offset("b", 0);
        assert_eq!(*reported.lock().unwrap(), [true, false]);
    }
}
