use alloc::collections::BTreeMap;
use core::time::Duration;

use tracing::{Level, Span, event, field::Empty, span};

use super::Observer;
use crate::{
    Moment,
    observe::{Event, EventKind, Refusal},
};

/// An observer that emits spans and events of the crate `tracing`.
///
/// | | name | level | fields |
/// | --- | --- | --- | --- |
/// | span | `race` | debug | `attempts`, `winner`, `elapsed_ms` |
/// | span in `race` | `attempt` | debug | `index`, `cause`, `endpoint`, `outcome` |
/// | event in `attempt` | `started` | debug | `index`, `elapsed_ms` |
/// | | `committed`, `won`, `finished`, `cancelled` | debug | `index`, `elapsed_ms`, `ran_ms` |
/// | | `failed`, `timed out` | info | `index`, `elapsed_ms`, `ran_ms` |
/// | event in `race` | `refused` | trace by `max_in_flight`, debug by `gate`, info by `budget` | `index`, `elapsed_ms`, `by` |
///
/// The target of all is `race`. The name of an event is its message. The fields are:
///
/// - `index`: the index of the attempt, from 0;
/// - `cause`: why the attempt started: `first`, `delay`, `failure` or `idle`; see
///   [`Cause`](crate::observe::Cause);
/// - `endpoint`: where the attempt goes, if the attempt records it in the span in which
///   [`poll_in_spans`](crate::GenericRace::poll_in_spans) polls it; `race-balance` does;
/// - `outcome`: the name of the last event of the attempt;
/// - `by`: what refused the start: `max_in_flight`, `gate` or `budget`; see [`Refusal`];
/// - `elapsed_ms`: the time since the first attempt started; in the span `race`, until its latest
///   event;
/// - `ran_ms`: the time that the attempt ran;
/// - `attempts`: the number of attempts that started;
/// - `winner`: the index of the attempt that won, in a quorum of the first one.
///
/// Times are in milliseconds with three decimals. A field is empty until its value is known.
/// Nothing is above the level info: the caller knows whether a failed race is an error, and knows
/// the errors of the attempts.
///
/// # Spans
///
/// The span `race` opens when the first attempt starts and closes when the race is dropped; a
/// finisher such as `first_ok` drops it when it is ready. The span `attempt` closes when the
/// attempt has ended. If a filter disables these spans, the events belong to the span around the
/// race.
///
/// The fields of a span are recorded late, so a formatter shows them only if it prints spans that
/// close. For `tracing_subscriber::fmt`, call `.with_span_events(FmtSpan::CLOSE)`.
///
/// Spans and events that an attempt itself emits belong to the span in which the race is polled.
/// With [`poll_in_spans`](crate::GenericRace::poll_in_spans) each attempt is polled in its span
/// `attempt`, so that theirs are children of it.
///
/// ```
/// use std::time::Duration;
/// use race_core::{Race, observe::Traced, test::VirtualClock};
///
/// let clock = VirtualClock::new();
/// let attempts = [async { Ok::<_, std::io::Error>(7) }];
/// let race =
///     Race::at(clock.timer()).of(Duration::from_millis(50), attempts).observer(Traced::new());
/// let won = clock.run(race.first_ok())??;
/// assert_eq!(won.output, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Traced {
    /// The parent of the span `race`. `None`: the span that is current when the race starts.
    around: Option<Span>,
    race: Option<TracedRace>,
}

/// The spans of a race that has started. Its end is recorded on drop.
#[derive(Debug)]
struct TracedRace {
    around: Span,
    span: Span,
    began: Moment,
    latest: Moment,
    /// The number of attempts that started.
    attempts: usize,
    has_winner: bool,
    /// The spans of the running attempts by index.
    running: BTreeMap<usize, Span>,
}

impl Traced {
    /// Creates an observer whose span `race` is a child of the span that is current at the first
    /// poll of the race.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an observer whose span `race` is a child of `span`. With [`Span::none`] it is a
    /// root.
    #[must_use]
    pub fn in_span(span: Span) -> Self {
        let (around, race) = (Some(span), None);
        Self { around, race }
    }
}

/// A clone observes another race, with the same parent.
impl Clone for Traced {
    fn clone(&self) -> Self {
        let around = self.around.clone();
        Self { around, race: None }
    }
}

impl Observer for Traced {
    fn span(&self, index: usize) -> Option<Span> {
        self.race.as_ref()?.running.get(&index).cloned()
    }

    fn observe(&mut self, event: Event) {
        if (event.index, event.kind) == (0, EventKind::Started) {
            // A reused observer closes the spans of its previous race first.
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

    /// Emits an event within the span of an attempt, or with [`Span::none`] within that of the
    /// race.
    ///
    /// It enters the spans instead of naming one as the parent: if a layer disables a span, the
    /// event then belongs to the next enabled span around it.
    fn within(&self, attempt: &Span, emit: impl FnOnce()) {
        self.around
            .in_scope(|| self.span.in_scope(|| attempt.in_scope(emit)));
    }

    fn observe(&mut self, event: Event) {
        let Event {
            index, cause, at, ..
        } = event;
        self.latest = at;
        let elapsed_ms = millis(at.since(self.began));
        match event.kind {
            EventKind::Started => {
                let attempt = span!(
                    target: "race",
                    parent: self.span.id().or_else(|| self.around.id()),
                    Level::DEBUG,
                    "attempt",
                    index,
                    %cause,
                    endpoint = Empty,
                    outcome = Empty,
                );
                self.within(&attempt, || {
                    event!(target: "race", Level::DEBUG, index, elapsed_ms, "started");
                });
                self.attempts += 1;
                self.running.insert(index, attempt);
            }
            EventKind::Committed => self.committed(event, elapsed_ms),
            EventKind::Refused(refusal) => self.refused(index, elapsed_ms, refusal),
            _ => self.ended(event, elapsed_ms),
        }
    }

    fn refused(&self, index: usize, elapsed_ms: f64, refusal: Refusal) {
        // A macro, because the level of an event must be a constant.
        macro_rules! refused {
            ($level:ident, $by:literal) => {
                self.within(&Span::none(), || {
                    event!(
                        target: "race",
                        Level::$level,
                        index,
                        elapsed_ms,
                        by = $by,
                        "refused"
                    );
                })
            };
        }
        match refusal {
            Refusal::MaxInFlight => refused!(TRACE, "max_in_flight"),
            Refusal::Gate => refused!(DEBUG, "gate"),
            Refusal::Budget => refused!(INFO, "budget"),
            Refusal::MaxAttempts | Refusal::Verdict | Refusal::Deadline | Refusal::Policy => {} // the race reports no event for these
        }
    }

    fn committed(&self, event: Event, elapsed_ms: f64) {
        let none = Span::none();
        let attempt = self.running.get(&event.index).unwrap_or(&none);
        let (index, ran_ms) = (event.index, millis(event.ran));
        self.within(attempt, || {
            event!(target: "race", Level::DEBUG, index, elapsed_ms, ran_ms, "committed");
        });
    }

    fn ended(&mut self, event: Event, elapsed_ms: f64) {
        let Event { index, kind, .. } = event;
        let attempt = self.running.remove(&index).unwrap_or_else(Span::none);
        let ran_ms = millis(event.ran);
        macro_rules! ended {
            ($level:ident, $outcome:literal) => {{
                attempt.record("outcome", $outcome);
                self.within(&attempt, || {
                    event!(
                        target: "race",
                        Level::$level,
                        index,
                        elapsed_ms,
                        ran_ms,
                        $outcome
                    );
                })
            }};
        }
        match kind {
            EventKind::Won => ended!(DEBUG, "won"),
            EventKind::Finished => ended!(DEBUG, "finished"),
            EventKind::Cancelled => ended!(DEBUG, "cancelled"),
            EventKind::Failed => ended!(INFO, "failed"),
            EventKind::TimedOut => ended!(INFO, "timed out"),
            EventKind::Started | EventKind::Committed | EventKind::Refused(_) => {}
        }
        if kind == EventKind::Won && !self.has_winner {
            self.has_winner = true;
            self.span.record("winner", index);
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

/// Returns milliseconds with three decimals.
fn millis(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e3
}

#[cfg(test)]
mod tests;
