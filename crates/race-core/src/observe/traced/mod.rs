use alloc::collections::BTreeMap;
use core::time::Duration;

use tracing::{Level, Span, event, field::Empty, span};

use super::Observer;
use crate::{Event, Moment, Suppressed, What};

/// Tells the subscriber of the crate `tracing` what happens in a race.
///
/// | | name | level | fields |
/// | --- | --- | --- | --- |
/// | span | `race` | debug | `attempts`, `winner`, `elapsed_ms` |
/// | span in it | `attempt` | debug | `place`, `outcome` |
/// | event in that | `started` | debug | `place`, `elapsed_ms` |
/// | | `won`, `finished`, `cancelled` | debug | `place`, `elapsed_ms`, `ran_ms` |
/// | | `failed`, `timed out` | info | the same |
/// | event in the race | `suppressed` | trace by the bound, debug by the gate, info by the budget | `place`, `elapsed_ms`, `by` |
///
/// The target of all is `race`. `place` counts from 0. `elapsed_ms` is the time since the race's first
/// attempt started, `ran_ms` how long the attempt ran, both in milliseconds with three decimals. `winner` is
/// the place of the first that won, and `outcome` the name of the attempt's last event; a field is left empty
/// as long as it is not known. Nothing is above `info`: whether a race went wrong is for its caller to say,
/// who also knows the errors of the attempts.
///
/// The span `race` opens when the first attempt starts, and closes when the race is dropped, which an end such as
/// `first_ok` does when it is ready; that of an attempt closes when the attempt has ended. If a filter takes
/// the spans away, the events that are left belong to the span around the race.
///
/// Fields that are filled later are shown by whoever shows a span as it closes: for `tracing_subscriber::fmt`,
/// with `.with_span_events(FmtSpan::CLOSE)`.
///
/// An attempt's own spans and events are not moved into `attempt`; they are wherever the race is polled.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Race, Traced, VirtualClock};
///
/// let clock = VirtualClock::new();
/// let attempts = [async { Ok::<_, std::io::Error>(7) }];
/// let race = Race::of_with(clock.timer(), Duration::from_millis(50), attempts)
///     .observer_with(clock.clone(), Traced::new());
/// # clock.run(race.first_ok()).unwrap().unwrap();
/// ```
#[derive(Debug, Default)]
pub struct Traced {
    /// What the race's span shall be in, if that was said.
    around: Option<Span>,
    race: Option<TracedRace>,
}

/// A race that has begun. It ends when it is dropped.
#[derive(Debug)]
struct TracedRace {
    around: Span,
    span: Span,
    began: Moment,
    latest: Moment,
    /// How many have started.
    attempts: usize,
    has_winner: bool,
    /// Of those that run.
    running: BTreeMap<usize, Span>,
}

impl Traced {
    /// In the span that is current when the race begins, in its first poll.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// In a span of your own, whatever is current then; in none for [`Span::none`].
    #[must_use]
    pub fn in_span(span: Span) -> Self {
        let (around, race) = (Some(span), None);
        Self { around, race }
    }
}

impl Observer for Traced {
    fn observe(&mut self, event: Event) {
        if (event.place, event.what) == (0, What::Started) {
            // Ends the one before, if it is used again.
            self.race = None;
        }
        let around = &self.around;
        let race = self.race.get_or_insert_with(|| {
            let around = around.clone().unwrap_or_else(Span::current);
            TracedRace::begin(around, event.at)
        });
        race.observe(event);
    }
}

impl TracedRace {
    fn begin(around: Span, began: Moment) -> Self {
        let span = span!(
            target: "race",
            parent: around.id(),
            Level::DEBUG,
            "race",
            attempts = Empty,
            winner = Empty,
            elapsed_ms = Empty,
        );
        Self {
            around,
            span,
            began,
            latest: began,
            attempts: 0,
            has_winner: false,
            running: BTreeMap::new(),
        }
    }

    /// Tells an event of an attempt, or of the race alone.
    ///
    /// The spans are entered, and not named as its parent: a layer that filters one of them away looks for the
    /// next around it only then.
    fn within(&self, attempt: &Span, tell: impl FnOnce()) {
        self.around
            .in_scope(|| self.span.in_scope(|| attempt.in_scope(tell)));
    }

    fn observe(&mut self, event: Event) {
        let Event { place, at, .. } = event;
        self.latest = at;
        let elapsed_ms = millis(at.since(self.began));
        match event.what {
            What::Started => {
                let attempt = span!(
                    target: "race",
                    parent: self.span.id().or_else(|| self.around.id()),
                    Level::DEBUG,
                    "attempt",
                    place,
                    outcome = Empty,
                );
                self.within(&attempt, || {
                    event!(target: "race", Level::DEBUG, place, elapsed_ms, "started");
                });
                self.attempts += 1;
                self.running.insert(place, attempt);
            }
            What::Suppressed(by) => self.suppressed(place, elapsed_ms, by),
            _ => self.ended(event, elapsed_ms),
        }
    }

    fn suppressed(&self, place: usize, elapsed_ms: f64, by: Suppressed) {
        // An event's level is a constant.
        macro_rules! suppressed {
            ($level:ident, $by:literal) => {
                self.within(&Span::none(), || {
                    event!(
                        target: "race",
                        Level::$level,
                        place,
                        elapsed_ms,
                        by = $by,
                        "suppressed"
                    );
                })
            };
        }
        match by {
            Suppressed::Bound => suppressed!(TRACE, "bound"),
            Suppressed::Gate => suppressed!(DEBUG, "gate"),
            Suppressed::Budget => suppressed!(INFO, "budget"),
        }
    }

    fn ended(&mut self, event: Event, elapsed_ms: f64) {
        let Event { place, what, .. } = event;
        let attempt = self.running.remove(&place).unwrap_or_else(Span::none);
        let ran_ms = millis(event.ran);
        macro_rules! ended {
            ($level:ident, $outcome:literal) => {{
                attempt.record("outcome", $outcome);
                self.within(&attempt, || {
                    event!(
                        target: "race",
                        Level::$level,
                        place,
                        elapsed_ms,
                        ran_ms,
                        $outcome
                    );
                })
            }};
        }
        match what {
            What::Won => ended!(DEBUG, "won"),
            What::Finished => ended!(DEBUG, "finished"),
            What::Cancelled => ended!(DEBUG, "cancelled"),
            What::Failed => ended!(INFO, "failed"),
            What::TimedOut => ended!(INFO, "timed out"),
            What::Started | What::Suppressed(_) => {}
        }
        if what == What::Won && !self.has_winner {
            self.has_winner = true;
            self.span.record("winner", place);
        }
    }
}

impl Drop for TracedRace {
    fn drop(&mut self) {
        self.span.record("attempts", self.attempts);
        let elapsed_ms = millis(self.latest.since(self.began));
        self.span.record("elapsed_ms", elapsed_ms);
    }
}

/// Whole microseconds, so that round times stay round.
fn millis(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e3
}

#[cfg(test)]
mod tests;
