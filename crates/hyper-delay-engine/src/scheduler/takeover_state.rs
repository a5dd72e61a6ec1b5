use std::time::Duration;

use super::settings::SchedulerSettings;
use crate::{
    clock::{Now, nanos},
    ledger::LedgerView,
};
use hyper_delay_store::{
    Store,
    record::{Name, Place},
};

/// The longest ack timeout that a task, a route or the configuration can have.
const LONGEST_ACK_TIMEOUT: Duration = Duration::from_secs(86_400);

/// The state after a change of the leader. On a single node nothing sets it.
#[derive(Debug, Default)]
pub(super) struct TakeoverState {
    /// Deliveries are stopped.
    holds_deliveries: bool,
    /// When this leader began, until the longest ack timeout has passed since.
    began: Option<Now>,
}

impl TakeoverState {
    /// Whether deliveries are stopped.
    pub(super) const fn holds_deliveries(&self) -> bool {
        self.holds_deliveries
    }

    /// Stops deliveries, or resumes them.
    pub(super) const fn hold_deliveries(&mut self, holds_deliveries: bool) {
        self.holds_deliveries = holds_deliveries;
    }

    /// This leader begins, after another one.
    pub(super) const fn begin(&mut self, now: Now) {
        self.began = Some(now);
    }

    /// Whether a task was due before this leader began, and its ack timeout has not passed since: a
    /// connection can have it of which this leader does not know.
    pub(super) fn was_due_before(
        &mut self,
        (route, id): (&str, &str),
        view: &LedgerView<impl Store>,
        settings: &SchedulerSettings,
        now: Now,
    ) -> bool {
        let Some(began) = self.recent_begin(now) else {
            return false;
        };
        let name = match view.name(route, id) {
            Ok(Some(name)) => name,
            Ok(None) => return false,
            // The ledger meets the error again, and reports it.
            Err(_) => return true,
        };
        let own = name.terms.as_ref().and_then(|terms| terms.ack_timeout_ms);
        let of_route = || settings.of_route(route).ack_timeout;
        let timeout = own.map_or_else(of_route, Duration::from_millis);
        let passed = now.monotonic.since(began.monotonic);
        was_due(&name, began.wall_millis()) && passed < nanos(timeout)
    }

    /// Whether a connection can have a task of which it has not told this leader yet. Once all have,
    /// none can.
    pub(super) fn may_be_in_flight(&self, name: &Name) -> bool {
        let began = self.began.filter(|_| self.holds_deliveries);
        began.is_some_and(|began| was_due(name, began.wall_millis()))
    }

    /// When this leader began, if a copy of an earlier one can be unanswered. If not, it is forgotten.
    fn recent_begin(&mut self, now: Now) -> Option<Now> {
        let is_recent =
            |began: &Now| now.monotonic.since(began.monotonic) < nanos(LONGEST_ACK_TIMEOUT);
        self.began = self.began.filter(is_recent);
        self.began
    }
}

/// Whether a task was due at `began`, in Unix milliseconds.
fn was_due(name: &Name, began: u64) -> bool {
    let (Place::Waiting(at) | Place::Parked(at)) = name.place else {
        return false;
    };
    // A retry waits for a later time than the task was due at, which is not `fire_at` if the task was
    // moved.
    at <= began || name.attempt > 0 && (name.fire_at <= began || name.failures > 0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use race_wheel::Tick;

    use super::*;
    use crate::{
        ledger::{Op, Outcome, TaskRevision},
        scheduler::tests::stored_tasks::StoredTasks,
    };
    use hyper_delay_config::Config;
    use hyper_delay_protocol::Terms;

    const BEGAN: u64 = 50_000;
    const ACK_TIMEOUT: u64 = 30_000;

    fn at(millis: u64) -> Now {
        Now {
            wall_nanos: millis * 1_000_000,
            monotonic: Tick::new(millis * 1_000_000),
        }
    }

    fn stored() -> StoredTasks {
        let mut stored = StoredTasks::new();
        stored.schedule("before", BEGAN, Terms::default());
        stored.schedule("after", BEGAN + 1, Terms::default());
        let short = Terms {
            ack_timeout_ms: Some(10),
            ..Terms::default()
        };
        stored.schedule("short", BEGAN, short);
        let retry = Op::Retry {
            at: BEGAN + 5_000,
            attempt: 1,
            failures: 1,
            revision: TaskRevision {
                route: "route".into(),
                id: "retry".into(),
                seq: stored.schedule("retry", BEGAN, Terms::default()),
                attempt: 1,
            },
            failure: None,
        };
        assert_eq!(stored.apply(&retry), Outcome::Applied(true));
        let early = Op::Retry {
            at: BEGAN + 5_000,
            attempt: 1,
            failures: 1,
            revision: TaskRevision {
                route: "route".into(),
                id: "moved".into(),
                seq: stored.schedule("moved", BEGAN + 100_000, Terms::default()),
                attempt: 1,
            },
            failure: None,
        };
        assert_eq!(stored.apply(&early), Outcome::Applied(true));
        stored
    }

    #[test]
    fn a_task_that_was_due_before_is_in_doubt_until_its_ack_timeout_has_passed() {
        let view = stored().view();
        let config = Config {
            ack_timeout_ms: ACK_TIMEOUT,
            ..Config::default()
        };
        let settings = SchedulerSettings::from(Arc::new(config));
        let mut takeover = TakeoverState::default();
        let before = |takeover: &mut TakeoverState, id, millis| {
            takeover.was_due_before(("route", id), &view, &settings, at(millis))
        };
        assert!(!before(&mut takeover, "before", BEGAN), "no leader before");
        takeover.begin(at(BEGAN));
        for (id, until) in [
            ("before", Some(BEGAN + ACK_TIMEOUT)),
            ("after", None),
            ("short", Some(BEGAN + 10)),
            ("retry", Some(BEGAN + ACK_TIMEOUT)),
            ("moved", Some(BEGAN + ACK_TIMEOUT)),
            ("unknown", None),
        ] {
            assert_eq!(before(&mut takeover, id, BEGAN), until.is_some(), "{id}");
            if let Some(until) = until {
                assert!(before(&mut takeover, id, until - 1), "{id}");
                assert!(!before(&mut takeover, id, until), "{id}");
            }
        }
    }

    #[test]
    fn the_begin_is_forgotten_after_the_longest_ack_timeout() {
        let mut takeover = TakeoverState::default();
        takeover.begin(at(BEGAN));
        let day = 86_400_000;
        assert!(takeover.recent_begin(at(BEGAN + day - 1)).is_some());
        assert!(takeover.recent_begin(at(BEGAN + day)).is_none());
        assert!(
            takeover.recent_begin(at(BEGAN)).is_none(),
            "it is forgotten"
        );
    }
}
