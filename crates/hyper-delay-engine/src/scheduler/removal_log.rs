use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use crate::clock::Now;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::scheduler::removal_log";

/// The shortest time between two lines.
const PERIOD: Duration = Duration::from_secs(1);

/// Tasks that the server has removed by itself and that are not in the log. A line is written once
/// per second at most.
#[derive(Debug, Default)]
pub(super) struct RemovalLog {
    tasks: u64,
    /// The route and the id of the latest one.
    latest: Option<(Arc<str>, Arc<str>)>,
    /// When the next line may be written.
    next: Tick,
}

impl RemovalLog {
    pub(super) fn add(&mut self, route: Arc<str>, id: Arc<str>) {
        self.tasks += 1;
        self.latest = Some((route, id));
    }

    /// Writes a line if there is something to write and the time for it has come. Returns when to
    /// call this again.
    pub(super) fn write(&mut self, now: Now, what: &str) -> Option<Tick> {
        self.latest.as_ref()?;
        if now.monotonic < self.next {
            return Some(self.next);
        }
        self.write_now(now, what);
        None
    }

    /// Writes a line if there is something to write.
    pub(super) fn write_now(&mut self, now: Now, what: &str) {
        let Some((route, id)) = self.latest.take() else {
            return;
        };
        let tasks = std::mem::take(&mut self.tasks);
        tracing::info!(target: TARGET, tasks, %route, %id, "{what}; this is the latest one");
        self.next = now.after(PERIOD);
    }
}
