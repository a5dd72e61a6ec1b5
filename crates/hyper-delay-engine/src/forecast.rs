//! Counts the tasks that wait for each minute, hour and day ahead.
//!
//! The counts are in memory and follow each committed batch. After the start, the thread that
//! writes reads the waiting tasks once, in slices between batches and in order of time. Until it
//! has finished, a change counts only if it is before the position that it has reached: what is
//! behind it is not read yet. Only that thread writes to the store, so a slice sees exactly the
//! batches that were counted.
//!
//! Nothing of this is on the disk: a schedule costs no byte more, and there is nothing to repair.

use std::{
    ops::ControlFlow,
    panic::{self, AssertUnwindSafe},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustc_hash::FxHashMap;

use crate::sizes::{Size, Sizes};
use hyper_delay_protocol::{DueCounts, Spans};
use hyper_delay_store::{Space, Store, StoreError, WaitingChange, record::key};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The counts of a server.
#[derive(Debug, Default)]
pub struct Forecast {
    state: Mutex<ForecastState>,
}

#[derive(Debug)]
struct ForecastState {
    reached: CountedUntil,
    minutes: SpanCounts,
    hours: SpanCounts,
    days: SpanCounts,
}

/// The position up to which the waiting tasks were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountedUntil {
    /// All tasks before this key of `waiting` are counted.
    Key([u8; 16]),
    /// As before, and the rest cannot be read.
    Damage([u8; 16]),
    /// All tasks are counted.
    End,
}

impl CountedUntil {
    /// Returns whether a task at that position is counted.
    fn has(self, at: u64, seq: u64) -> bool {
        match self {
            Self::Key(key) | Self::Damage(key) => key::time(at, seq) < key,
            Self::End => true,
        }
    }
}

impl Default for ForecastState {
    fn default() -> Self {
        Self {
            reached: CountedUntil::Key([0; 16]),
            minutes: SpanCounts::default(),
            hours: SpanCounts::default(),
            days: SpanCounts::default(),
        }
    }
}

impl ForecastState {
    fn add(&mut self, at: u64, by: i64) {
        self.minutes.add(at / MINUTE, by);
        self.hours.add(at / HOUR, by);
        self.days.add(at / DAY, by);
    }

    /// Adds runs of changes in the same minute at once.
    fn add_all(&mut self, changes: impl Iterator<Item = (u64, i64)>) {
        let mut run = (0, 0);
        for (at, by) in changes {
            let minute = at / MINUTE;
            if minute != run.0 {
                self.add(run.0 * MINUTE, run.1);
                run = (minute, 0);
            }
            run.1 += by;
        }
        self.add(run.0 * MINUTE, run.1);
    }
}

/// The tasks in each span of equal length that has any.
#[derive(Debug, Default)]
struct SpanCounts {
    by_span: FxHashMap<u64, u64>,
}

impl SpanCounts {
    fn add(&mut self, span: u64, by: i64) {
        if by == 0 {
            return;
        }
        let count = self.by_span.entry(span).or_default();
        *count = count.saturating_add_signed(by);
        if *count == 0 {
            self.by_span.remove(&span);
        }
    }

    fn spans(&self, length: u64, now: u64, number: u64) -> Spans {
        let first = now / length;
        let spans = first..first.saturating_add(number);
        let count = |span| self.by_span.get(&span).copied().unwrap_or_default();
        Spans {
            from: first * length,
            tasks: spans.map(count).collect(),
        }
    }
}

impl Forecast {
    /// Counts from `low_water` on, in Unix milliseconds: no task waits for an earlier time.
    pub fn begin(&self, low_water: u64) {
        self.state().reached = CountedUntil::Key(key::time(low_water, 0));
    }

    /// Returns whether there are tasks left to count.
    pub fn is_counting(&self) -> bool {
        matches!(self.state().reached, CountedUntil::Key(_))
    }

    /// Counts the changes of a batch that is committed.
    pub fn committed(&self, changes: &[WaitingChange]) {
        if changes.is_empty() {
            return;
        }
        let mut state = self.state();
        let reached = state.reached;
        let counted = changes.iter().filter(|due| reached.has(due.at, due.seq));
        state.add_all(counted.map(|due| (due.at, if due.is_new { 1 } else { -1 })));
    }

    /// Counts the next slice of the waiting tasks. No batch may be committed meanwhile, and all
    /// that are must be counted.
    ///
    /// If a part of them is damaged, those behind it stay uncounted until the next start.
    ///
    /// # Errors
    ///
    /// If the disk cannot be read.
    pub fn count_next_slice(&self, store: &impl Store, sizes: Sizes) -> Result<(), StoreError> {
        let CountedUntil::Key(from) = self.state().reached else {
            return Ok(());
        };
        let slice = sizes.forecast_rows;
        let mut times = Vec::with_capacity(slice);
        let mut next = None;
        let mut malformed = None;
        let scan = || {
            store.scan(Space::Waiting, &from, &mut |key, _| {
                match key::time_of(key) {
                    Ok((at, seq)) if times.len() == slice => next = Some(key::time(at, seq)),
                    Ok((at, _)) => {
                        times.push(at);
                        return ControlFlow::Continue(());
                    }
                    Err(error) => malformed = Some(error),
                }
                ControlFlow::Break(())
            })
        };
        // The store's library can panic on a damaged block, which must not end the server.
        let scanned = panic::catch_unwind(AssertUnwindSafe(scan))
            .unwrap_or_else(|_| Err(StoreError::damage("read", "the read has panicked")));
        let scanned = scanned.and(malformed.map_or(Ok(()), Err));
        let mut state = self.state();
        state.reached = match scanned {
            Ok(()) => next.map_or(CountedUntil::End, |next| {
                (sizes.reached)(Size::ForecastRows);
                CountedUntil::Key(next)
            }),
            Err(error) if error.is_damage() => {
                state.reached = CountedUntil::Damage(from);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        state.add_all(times.into_iter().map(|at| (at, 1)));
        Ok(())
    }

    /// Returns the counts from `now` on, in Unix milliseconds.
    pub fn read(&self, now: u64) -> DueCounts {
        let state = self.state();
        DueCounts {
            minutes: state.minutes.spans(MINUTE, now, 60),
            hours: state.hours.spans(HOUR, now, 48),
            days: state.days.spans(DAY, now, 365),
            counted_until: match state.reached {
                CountedUntil::Key(key) | CountedUntil::Damage(key) => {
                    key::time_of(&key).ok().map(|(at, _)| at)
                }
                CountedUntil::End => None,
            },
        }
    }

    fn state(&self) -> MutexGuard<'_, ForecastState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
