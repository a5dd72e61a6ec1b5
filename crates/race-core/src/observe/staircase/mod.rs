mod draw;
mod lane;
mod scale;
mod text;

use alloc::{collections::BTreeMap, string::String};
use core::fmt;

use lane::Lane;
use text::plain;

use super::Observer;
use crate::{
    Moment,
    observe::{Event, EventKind},
};

/// An observer that draws a race as text: one bar per attempt, on a common time axis.
///
/// Print it with `Display` when the race is over. To keep access to it while the race observes,
/// put it into a `RefCell` or a lock and pass events on from a closure:
///
/// ```
/// use std::{cell::RefCell, time::Duration};
/// use race_core::{Race, observe::{Observer, Staircase}, test::VirtualClock};
///
/// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// let stairs = RefCell::new(Staircase::new().named(0, "one").named(1, "two").named(2, "three"));
/// let attempts = [100, 20, 80].map(|latency| clock.sleep(ms(latency)));
/// let race = Race::at(clock.timer()).of(ms(50), attempts)
///     .on_event(|event| stairs.borrow_mut().observe(event));
/// clock.run(race.first())?;
///
/// assert_eq!(format!("\n{}", stairs.borrow()), "
///          0               20             40              60 ms
/// #0 one   ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╌ cancelled
/// #1 two                                          ━━━━━━━━━━━━━━━━● won after 70 ms
/// #2 three not started
/// ");
/// # Ok::<(), race_core::test::Deadlock>(())
/// ```
///
/// # The picture
///
/// The character at the end of a bar is `●` if the attempt won or finished, `✗` if it failed or
/// timed out, and `╌` if it was cancelled or is still running. Times are in milliseconds, and on
/// the axis of a race of 10 seconds or more in seconds. The time of a winner counts from the start
/// of the race.
///
/// A candidate that has not started has a line if it has a name, or if it was refused.
///
/// Lines are at most 100 characters wide: long names are shortened in the middle, long outcomes at
/// the end. The alternate form (`{:#}`) appends a line with the full text of each shortened
/// outcome. In names and notes, control characters, such as line feeds and escape sequences, and
/// invisible characters are replaced by spaces.
///
/// # Several races
///
/// It stores every attempt of one race, so do not attach it to a race without end. When another
/// race starts, it drops the previous one and its notes, and keeps the names.
#[derive(Clone, Debug, Default)]
pub struct Staircase {
    /// When the race started.
    began: Moment,
    /// The time of the latest event.
    latest: Moment,
    /// The attempts and named candidates by index.
    lanes: BTreeMap<usize, Lane>,
}

impl Staircase {
    /// Creates an empty picture.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the attempt with this index and returns the staircase. See [`name`](Self::name).
    #[must_use]
    pub fn named(mut self, index: usize, name: impl fmt::Display) -> Self {
        self.name(index, name);
        self
    }

    /// Names the attempt with this index, for example after its server.
    pub fn name(&mut self, index: usize, name: impl fmt::Display) {
        self.lane(index).name = plain(name);
    }

    /// Adds a note to the outcome of the attempt with this index, such as its error or the size of
    /// its answer. It replaces an earlier note.
    pub fn note(&mut self, index: usize, note: impl fmt::Display) {
        self.lane(index).note = Some(plain(note));
    }

    /// Returns the outcome of the attempt with this index as the picture shows it, not shortened.
    ///
    /// An unknown index is "not started".
    #[must_use]
    pub fn outcome(&self, index: usize) -> String {
        let unknown = Lane::default();
        let lane = self.lanes.get(&index).unwrap_or(&unknown);
        lane.outcome(self.began)
    }

    fn lane(&mut self, index: usize) -> &mut Lane {
        self.lanes.entry(index).or_default()
    }

    /// Starts the picture of a race at `at`. If there was a race before, drops all but its names.
    fn begin(&mut self, at: Moment) {
        self.began = at;
        if self.lanes.values().any(Lane::has_started) {
            self.lanes.retain(|_, lane| {
                lane.reset();
                lane.is_named()
            });
        }
    }
}

impl Observer for Staircase {
    fn observe(&mut self, event: Event) {
        if (event.index, event.kind) == (0, EventKind::Started) {
            self.begin(event.at);
        }
        self.latest = event.at;
        self.lane(event.index).observe(event);
    }
}
