mod lane;
mod picture;
mod scale;
mod text;

use alloc::{collections::BTreeMap, string::String};
use core::fmt;

use lane::Lane;
use text::plain;

use super::Observer;
use crate::{Event, Moment, What};

/// Draws a race: a line for each attempt, from its start to its end, under one axis.
///
/// It is an [`Observer`]. To look at it when the race is over, share it: a closure around a `RefCell` (or a lock)
/// is an observer, too.
///
/// ```
/// use std::{cell::RefCell, time::Duration};
/// use race_core::{Observer, Race, Staircase, VirtualClock};
///
/// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// let stairs = RefCell::new(Staircase::new().named(0, "one").named(1, "two").named(2, "three"));
/// let attempts = [100, 20, 80].map(|latency| clock.sleep(ms(latency)));
/// let race = Race::of_with(clock.timer(), ms(50), attempts)
///     .observer_with(clock.clone(), |event| stairs.borrow_mut().observe(event));
/// clock.run(race.first())??;
///
/// assert_eq!(format!("\n{}", stairs.borrow()), "
///          0               20             40              60 ms
/// #0 one   ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╌ cancelled
/// #1 two                                          ━━━━━━━━━━━━━━━━● won after 70 ms
/// #2 three not started
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # The picture
///
/// A bar ends with `●` if the attempt won or finished, with `✗` if it failed or timed out, and with `╌` if it was
/// cancelled, or still runs. Candidates that have not started have a line if they are named, or if they were
/// not allowed to start.
///
/// No line is wider than 100 characters: long names are shortened in the middle, long outcomes at their end. The
/// alternate form (`{:#}`) adds a line with the whole text for each outcome that was shortened. What would
/// break a line, such as a line feed or an escape sequence, is replaced by spaces when it comes in.
///
/// It remembers every attempt, so it is for races that have an end. If another race begins with it, the
/// former is forgotten but for the names.
#[derive(Clone, Debug, Default)]
pub struct Staircase {
    /// When the race began.
    began: Moment,
    /// What happened last.
    latest: Moment,
    /// By place.
    lanes: BTreeMap<usize, Lane>,
}

impl Staircase {
    /// Of no race yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// [`name`](Self::name)s an attempt.
    #[must_use]
    pub fn named(mut self, place: usize, name: impl fmt::Display) -> Self {
        self.name(place, name);
        self
    }

    /// Names the attempt with this place, such as by the server that it asks.
    pub fn name(&mut self, place: usize, name: impl fmt::Display) {
        self.lane(place).name = plain(name);
    }

    /// What to tell of the attempt's outcome, such as why it failed, or how much it got. The latest
    /// note counts.
    pub fn note(&mut self, place: usize, note: impl fmt::Display) {
        self.lane(place).note = Some(plain(note));
    }

    /// What became of the attempt with this place, in words, however many.
    #[must_use]
    pub fn outcome(&self, place: usize) -> String {
        let unknown = Lane::default();
        let lane = self.lanes.get(&place).unwrap_or(&unknown);
        lane.outcome(self.began)
    }

    fn lane(&mut self, place: usize) -> &mut Lane {
        self.lanes.entry(place).or_default()
    }

    /// Forgets the race before, if there was one, and what has no name.
    fn begin(&mut self, at: Moment) {
        self.began = at;
        if self.lanes.values().any(Lane::has_started) {
            self.lanes.retain(|_, lane| {
                lane.forget();
                lane.is_named()
            });
        }
    }
}

impl Observer for Staircase {
    fn observe(&mut self, event: Event) {
        if (event.place, event.what) == (0, What::Started) {
            self.begin(event.at);
        }
        self.latest = event.at;
        self.lane(event.place).observe(event);
    }
}
