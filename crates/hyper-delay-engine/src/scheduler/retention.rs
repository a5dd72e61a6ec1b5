//! Dead letters that are removed because of their age.
//!
//! They are stored by route and time of death. A pass over the routes removes the oldest ones of
//! each in batches, and finds the time of the next removal. Between passes nothing is read. A pass
//! begins in each route where the one before ended, so that it does not step over the tombstones of
//! what was removed.

use std::time::Duration;

use race_wheel::Tick;

use super::{CommitToken, Scheduler, loading::PARKS, removal_log::RemovalLog};
use crate::{
    clock::Now,
    ledger::{Op, Outcome, RetentionCursor, Sweep, SweepAct},
    sizes::Size,
};
use hyper_delay_store::{Store, StoreError, record::Place};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::scheduler::retention";

/// The longest time between two passes that have something to do, unless a pass takes long.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The rest after a pass is at least this many times as long as the pass.
const REST: u64 = 9;

const REMOVED: &str = "dead letters are removed because of dead_retention_seconds";

/// The progress of the removal of old dead letters.
#[derive(Debug, Default)]
pub(super) struct DeadRetention {
    pass: Option<RetentionPass>,
    /// The time of the next pass, in Unix milliseconds.
    next: u64,
    /// It does not begin earlier than this.
    not_before: Tick,
    /// Passes have removed all that died earlier, in Unix milliseconds.
    since: u64,
    /// Removals that are not on disk. Until they are, nothing is read.
    removals_in_flight: usize,
    log: RemovalLog,
}

/// A pass over the dead letters of all routes.
#[derive(Debug)]
struct RetentionPass {
    begun: Tick,
    /// It removes what died before this time, in Unix milliseconds.
    before: u64,
    cursor: RetentionCursor,
    /// When the first dead letter died that it has left, in Unix milliseconds. The time of its begin
    /// if there is none.
    oldest_left: u64,
    /// Whether it could read all of them.
    is_whole: bool,
}

impl DeadRetention {
    /// Writes what was removed into the log, whatever was written before.
    pub(super) fn flush_log(&mut self, now: Now) {
        self.log.write_now(now, REMOVED);
    }

    /// The retention has changed: all dead letters are looked through again.
    pub(super) fn restart(&mut self) {
        self.pass = None;
        self.next = 0;
        self.not_before = Tick::ZERO;
        self.since = 0;
    }

    /// A task has died at this time (Unix milliseconds), which can be earlier than others if the
    /// clock was set back.
    pub(super) fn note_death(&mut self, at: u64, retention_millis: u64) {
        self.since = self.since.min(at);
        if let Some(pass) = &mut self.pass {
            pass.oldest_left = pass.oldest_left.min(at);
        }
        self.next = self.next.min(at.saturating_add(retention_millis));
    }
}

impl<S: Store> Scheduler<S> {
    /// Whether dead letters may be read now.
    fn may_read_dead(&self) -> bool {
        let has_room =
            self.retention.removals_in_flight == 0 && self.commits.pending_parks() < PARKS;
        self.settings.dead_retention_millis.is_some() && has_room && self.may_remove()
    }

    /// Whether to read dead letters now.
    pub(super) fn wants_retention(&self) -> bool {
        let DeadRetention {
            pass,
            next,
            not_before,
            ..
        } = &self.retention;
        let is_due = *next <= self.now.wall_millis() && *not_before <= self.now.monotonic;
        self.may_read_dead() && (pass.is_some() || is_due)
    }

    /// When the next pass over the dead letters begins. `None` if nothing is read before the
    /// committer reports, and without a retention.
    pub(super) fn next_retention(&self) -> Option<Tick> {
        let DeadRetention {
            next, not_before, ..
        } = &self.retention;
        let at = self.now.tick_of(*next).max(*not_before);
        self.may_read_dead().then_some(at)
    }

    /// Removes dead letters whose retention has ended.
    pub(super) fn remove_old_dead(&mut self) {
        let Some(retention) = self.settings.dead_retention_millis else {
            return;
        };
        if !self.wants_retention() {
            return;
        }
        let now = self.now.wall_millis();
        let pass = self.retention.pass.take();
        let mut pass = pass.unwrap_or_else(|| RetentionPass {
            begun: self.now.monotonic,
            before: now.saturating_sub(retention).saturating_add(1),
            cursor: RetentionCursor::default(),
            oldest_left: now,
            is_whole: true,
        });
        let range = (self.retention.since, pass.before);
        let sizes = self.settings.sizes;
        let keys = sizes.retention_keys;
        let page = match self.view.retention_page(&pass.cursor, range, keys) {
            Ok(page) => page,
            Err(error) if error.is_damage() => {
                log_damage(&error);
                self.retention.next = now;
                self.retention.not_before = self.now.after(LONGEST_PAUSE);
                return;
            }
            Err(error) => return self.fail(error),
        };
        if let Some(error) = page.damage {
            log_damage(&error);
            pass.is_whole = false;
        }
        for dead in page.found {
            let place = Place::Dead(dead.position.at);
            let sweep = Sweep {
                job: None,
                route: dead.route,
                id: dead.id,
                seq: dead.position.seq,
                act: SweepAct::Delete { place },
            };
            self.retention.removals_in_flight += 1;
            self.submit(Op::Sweep(sweep), CommitToken::None);
        }
        if let Some(at) = page.oldest_left {
            pass.oldest_left = pass.oldest_left.min(at);
        }
        match page.next {
            Some(next) => {
                (sizes.reached)(Size::RetentionKeys);
                pass.cursor = next;
                self.retention.pass = Some(pass);
            }
            None => self.end_pass(&pass, retention),
        }
    }

    fn end_pass(&mut self, pass: &RetentionPass, retention_millis: u64) {
        let taken = self.now.monotonic.since(pass.begun);
        let rest = Duration::from_nanos(taken.saturating_mul(REST));
        let mut pause = pause(retention_millis);
        if pass.is_whole {
            self.retention.since = pass.before.min(pass.oldest_left);
            self.retention.next = pass.oldest_left.saturating_add(retention_millis);
        } else {
            pause = LONGEST_PAUSE;
        }
        self.retention.not_before = self.now.after(pause.max(rest));
    }

    /// The removal of a dead letter because of its age is on disk.
    pub(super) fn handle_old_dead_removed(&mut self, sweep: Sweep, outcome: &Outcome) {
        self.retention.removals_in_flight -= 1;
        if matches!(outcome, Outcome::Cancelled(Some(_))) {
            self.metrics.removed_by_age.add(1);
            self.retention.log.add(sweep.route, sweep.id);
        }
    }

    /// Writes what was removed into the log. Returns when to call this again.
    pub(super) fn log_old_dead(&mut self) -> Option<Tick> {
        self.retention.log.write(self.now, REMOVED)
    }
}

fn log_damage(error: &StoreError) {
    tracing::error!(target: TARGET, %error, "dead letters cannot be read, and stay");
}

/// The shortest time between two passes: a tenth of the retention, but at least a second and at most
/// a minute.
fn pause(retention_millis: u64) -> Duration {
    Duration::from_millis(retention_millis / 10).clamp(Duration::from_secs(1), LONGEST_PAUSE)
}
