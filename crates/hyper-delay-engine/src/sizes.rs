//! The sizes of pages, windows and caches of the engine.

/// The sizes of pages, windows and caches. None of them changes what a client sees, but for
/// [`paused_routes`](Self::paused_routes) and [`ended_jobs`](Self::ended_jobs).
///
/// Tests use small ones, so that short histories cross each boundary.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// The most routes that may be paused.
    pub paused_routes: usize,
    /// How many ended bulk operations are kept.
    pub ended_jobs: usize,
    /// The most tasks of one batch of a bulk operation. It reads four times as many keys.
    pub bulk_tasks: usize,
    /// The most keys that one step of the removal of old dead letters reads.
    pub retention_keys: usize,
    /// The most tokens whose sums of pending tasks are kept.
    pub token_sums: usize,
    /// The values of one generation of those that were written recently.
    pub recent_values: usize,
    /// The most rows that are read before their changes are committed, after an accepted loss.
    pub mend_rows: usize,
    /// The most sequence numbers in memory, after an accepted loss.
    pub mend_numbers: usize,
    /// The rows of one slice of the forecast, so that a batch waits at most about a millisecond for
    /// it.
    pub forecast_rows: usize,
    /// The rows of the index of retrying tasks that are checked at once.
    pub retrying_rows: usize,
    /// Called when one of these sizes was reached.
    pub reached: fn(Size),
}

/// One of the [`Sizes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// [`Sizes::paused_routes`].
    PausedRoutes,
    /// [`Sizes::ended_jobs`].
    EndedJobs,
    /// [`Sizes::bulk_tasks`].
    BulkTasks,
    /// [`Sizes::retention_keys`].
    RetentionKeys,
    /// [`Sizes::token_sums`].
    TokenSums,
    /// [`Sizes::recent_values`].
    RecentValues,
    /// [`Sizes::mend_rows`].
    MendRows,
    /// [`Sizes::mend_numbers`].
    MendNumbers,
    /// [`Sizes::forecast_rows`].
    ForecastRows,
    /// [`Sizes::retrying_rows`].
    RetryingRows,
}

impl Sizes {
    /// Those of a server.
    pub const SERVER: Self = Self {
        paused_routes: 1_000,
        ended_jobs: 100,
        bulk_tasks: 500,
        retention_keys: 512,
        token_sums: 64,
        recent_values: 16 << 10,
        mend_rows: 4_096,
        mend_numbers: 1 << 21,
        forecast_rows: 2_048,
        retrying_rows: 256,
        reached: |_| {},
    };

    /// Those of tests.
    #[cfg(any(test, feature = "test-util"))]
    pub const SMALL: Self = Self {
        paused_routes: 5,
        ended_jobs: 3,
        bulk_tasks: 3,
        retention_keys: 2,
        token_sums: 2,
        recent_values: 4,
        mend_rows: 3,
        mend_numbers: 2,
        forecast_rows: 3,
        retrying_rows: 2,
        reached: counts::reached,
    };
}

#[cfg(any(test, feature = "test-util"))]
pub mod counts {
    //! How often sizes are reached, on each thread.

    use std::{cell::RefCell, collections::BTreeMap};

    use super::Size;

    thread_local! {
        static REACHED: RefCell<BTreeMap<Size, u64>> = const { RefCell::new(BTreeMap::new()) };
    }

    pub(super) fn reached(size: Size) {
        REACHED.with_borrow_mut(|reached| *reached.entry(size).or_default() += 1);
    }

    /// Begins to count on this thread.
    pub fn begin() {
        REACHED.take();
    }

    /// Asserts that each of these sizes was reached at least `least` times on this thread, and begins
    /// to count anew.
    ///
    /// # Panics
    ///
    /// If one was not.
    pub fn assert_reached(sizes: &[Size], least: u64) {
        let reached = REACHED.take();
        for size in sizes {
            let times = reached.get(size).copied().unwrap_or(0);
            assert!(
                times >= least,
                "{size:?} was reached {times} times: {reached:?}"
            );
        }
    }
}
