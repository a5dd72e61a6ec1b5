//! Dead letters that are removed because of their age.
//!
//! They are stored by route and time of death. A pass over the routes removes the oldest ones of
//! each in batches, and finds out when the next one is to go. Between passes nothing is read.

use std::{sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{Scheduler, Token, reading::PARKS};
use crate::{
    clock::Now,
    ledger::{Op, Outcome, Sweep, SweepAct},
    record::Place,
    store::{Bytes, Store},
};

/// The most keys that are read at a time, so that other work is not delayed.
const KEYS: usize = if cfg!(test) { 3 } else { 512 };

/// The longest time between two passes that have something to do.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How far the dead letters have been looked through.
#[derive(Debug, Default)]
pub(super) struct Retention {
    state: State,
    /// What the pass under way, or the last one, has removed.
    removed: Removed,
    /// When the first dead letter died that the pass has left, in Unix milliseconds.
    oldest_left: Option<u64>,
    /// Removals that are not on disk. Until they are, nothing is read.
    under_way: usize,
}

#[derive(Debug)]
enum State {
    /// The next pass begins at this wall time in Unix milliseconds, and not before this moment.
    Rests { until: u64, at_least: Tick },
    /// A pass goes on at this key.
    Reads(Bytes),
}

/// What was removed and is not in the log.
#[derive(Debug, Default)]
struct Removed {
    tasks: u64,
    /// The route and the id of the latest one.
    latest: Option<(Arc<str>, Arc<str>)>,
}

impl Default for State {
    fn default() -> Self {
        Self::Reads(Bytes::default())
    }
}

impl Retention {
    /// The retention is another one: all dead letters are looked through anew.
    pub(super) fn begin_anew(&mut self) {
        self.oldest_left = None;
        self.state = State::default();
    }

    /// Whether a part of a pass is due.
    fn is_due(&self, now: Now) -> bool {
        match &self.state {
            State::Reads(_) => true,
            State::Rests { until, at_least } => {
                *until <= now.wall_millis() && *at_least <= now.monotonic
            }
        }
    }
}

impl<S: Store> Scheduler<S> {
    /// Whether dead letters are to be read.
    pub(super) fn wants_outdated(&self) -> bool {
        let is_wanted = self.settings.dead_retention_millis.is_some()
            && self.retention.under_way == 0
            && self.retention.is_due(self.now);
        is_wanted && !self.is_ending && self.requests.parks() < PARKS
    }

    /// When the next pass over the dead letters begins. `None` if none does, or one is under way.
    pub(super) fn next_outdated(&self) -> Option<Tick> {
        self.settings.dead_retention_millis?;
        match &self.retention.state {
            State::Rests { until, at_least } => Some(self.now.tick_of(*until).max(*at_least)),
            State::Reads(_) => None,
        }
    }

    /// Removes dead letters that are older than the retention.
    pub(super) fn remove_outdated(&mut self) {
        let Some(retention) = self.settings.dead_retention_millis else {
            return;
        };
        if !self.wants_outdated() {
            return;
        }
        let now = self.now.wall_millis();
        let before = now.saturating_sub(retention).saturating_add(1);
        let from = match &self.retention.state {
            State::Reads(from) => from.clone(),
            State::Rests { .. } => {
                self.retention.oldest_left = None;
                Bytes::default()
            }
        };
        let page = match self.view.outdated(&from, before, KEYS) {
            Ok(page) => page,
            Err(error) if error.is_damage() => {
                tracing::error!(%error, "dead letters cannot be read, and stay");
                self.retention.state = State::Rests {
                    until: now,
                    at_least: self.now.after(LONGEST_PAUSE),
                };
                return;
            }
            Err(error) => return self.fail(error),
        };
        let left = [self.retention.oldest_left, page.oldest_left];
        self.retention.oldest_left = left.into_iter().flatten().min();
        for outdated in page.found {
            let position = outdated.position;
            let place = Place::Dead(position.at);
            let sweep = Sweep {
                job: None,
                route: outdated.route,
                id: outdated.id,
                seq: position.seq,
                act: SweepAct::Delete { place },
            };
            self.retention.under_way += 1;
            self.submit(Op::Sweep(sweep), Token::None);
        }
        self.retention.state = match page.next {
            Some(next) => State::Reads(next),
            None => {
                let oldest = self
                    .retention
                    .oldest_left
                    .map_or(now, |oldest| oldest.min(now));
                State::Rests {
                    until: oldest.saturating_add(retention),
                    at_least: self.now.after(pause(retention)),
                }
            }
        };
        self.log_outdated();
    }

    /// The removal of a dead letter because of its age is on disk.
    pub(super) fn outdated(&mut self, sweep: Sweep, outcome: &Outcome) {
        self.retention.under_way -= 1;
        if matches!(outcome, Outcome::Cancelled(Some(_))) {
            self.metrics.outdated.add(1);
            self.retention.removed.tasks += 1;
            self.retention.removed.latest = Some((sweep.route, sweep.id));
        }
        self.log_outdated();
    }

    /// Writes into the log what a pass has removed, once all of it is on disk.
    fn log_outdated(&mut self) {
        let is_over = matches!(self.retention.state, State::Rests { .. });
        if !is_over || self.retention.under_way > 0 {
            return;
        }
        let Removed { tasks, latest } = std::mem::take(&mut self.retention.removed);
        if let Some((route, id)) = latest {
            tracing::info!(
                tasks,
                %route,
                %id,
                "dead letters are removed because of dead_retention_seconds; this is the latest one"
            );
        }
    }
}

/// The shortest time between two passes: a tenth of the retention, but at least a second and at most
/// a minute.
fn pause(retention_millis: u64) -> Duration {
    Duration::from_millis(retention_millis / 10).clamp(Duration::from_secs(1), LONGEST_PAUSE)
}
