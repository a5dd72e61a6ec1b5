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

/// How often each side of a link asks for the time.
pub(super) const PERIOD: Duration = Duration::from_secs(2);

/// Compares the wall clock of this node with those of others.
pub(crate) struct Clocks {
    clock: Clock,
    state: Mutex<State>,
    tell: Box<dyn Fn(bool) + Send + Sync>,
}

#[derive(Debug, Default)]
struct State {
    check: ClockCheck,
    is_off: bool,
}

impl Clocks {
    /// `tell` is called whenever the clock of this node becomes wrong or right.
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
    pub(super) fn heard(&self, node: &NodeName, sent: Now, wall_nanos: u64) {
        let now = self.now();
        let mut state = self.lock();
        state.check.heard(node.clone(), sent, wall_nanos, now);
        self.decide(state, now);
    }

    /// Looks at the clock of this node from time to time, as it can be set, until the future is
    /// dropped.
    pub(crate) async fn watch(&self) {
        loop {
            time::sleep(PERIOD).await;
            self.look();
        }
    }

    /// Compares the clock of this node with what is known of the others. Returns whether it is
    /// wrong.
    pub(crate) fn look(&self) -> bool {
        let now = self.now();
        self.decide(self.lock(), now)
    }

    fn decide(&self, mut state: MutexGuard<'_, State>, now: Now) -> bool {
        let is_off = state.check.is_off(now);
        if state.is_off == is_off {
            return is_off;
        }
        state.is_off = is_off;
        if is_off {
            let different = state.check.different(now);
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Clocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Clocks");
        shown.field("state", &self.state).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_told_once() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let changes = told.clone();
        let clocks = Clocks::new(Clock::new(), move |is_off| {
            changes.lock().unwrap().push(is_off);
        });
        let hears = |node: &str, ahead: u64| {
            let now = clocks.now();
            clocks.heard(&node.into(), now, now.wall_nanos + ahead * 1_000_000_000);
        };
        hears("b", 3_600);
        clocks.look();
        assert!(told.lock().unwrap().is_empty(), "one against one");
        hears("c", 3_600);
        hears("c", 3_600);
        clocks.look();
        assert_eq!(*told.lock().unwrap(), [true]);
        hears("b", 0);
        hears("b", 0);
        assert_eq!(*told.lock().unwrap(), [true, false]);
    }
}
