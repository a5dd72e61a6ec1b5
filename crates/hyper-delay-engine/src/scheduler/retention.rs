//! Dead letters that are removed because of their age.
//!
//! They are stored by route and time of death. A pass over the routes removes the oldest ones of
//! each in batches, and finds the time of the next removal. Between passes nothing is read. A pass
//! begins in each route where the one before ended, so that it does not step over the tombstones of
//! what was removed.

use std::time::Duration;

use race_wheel::Tick;

use super::removal_log::RemovalLog;
use crate::{
    clock::Now,
    ledger::{LedgerView, Position, RetentionCursor, RetentionPage, Sweep, SweepAct, TimedTask},
    sizes::{Size, Sizes},
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

impl RetentionPass {
    fn begin(retention_millis: u64, now: Now) -> Self {
        let at = now.wall_millis();
        Self {
            begun: now.monotonic,
            before: at.saturating_sub(retention_millis).saturating_add(1),
            cursor: RetentionCursor::default(),
            oldest_left: at,
            is_whole: true,
        }
    }
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

    /// Whether there is something to read now.
    pub(super) fn is_due(&self, now: Now) -> bool {
        let is_time = self.next <= now.wall_millis() && self.not_before <= now.monotonic;
        self.removals_in_flight == 0 && (self.pass.is_some() || is_time)
    }

    /// When the next pass begins. `None` if nothing is read before the committer reports.
    pub(super) fn next_pass(&self, now: Now) -> Option<Tick> {
        let at = now.tick_of(self.next).max(self.not_before);
        (self.removals_in_flight == 0).then_some(at)
    }

    /// Reads the next page of the pass, or the first one of another pass. Returns the removals of
    /// the dead letters whose retention has ended. Damaged ones stay.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(super) fn read(
        &mut self,
        view: &LedgerView<impl Store>,
        retention_millis: u64,
        sizes: Sizes,
        now: Now,
    ) -> Result<Vec<Sweep>, StoreError> {
        let begin = || RetentionPass::begin(retention_millis, now);
        let pass = self.pass.take().unwrap_or_else(begin);
        let range = (self.since, pass.before);
        match view.retention_page(&pass.cursor, range, sizes.retention_keys) {
            Ok(page) => {
                if page.next.is_some() {
                    (sizes.reached)(Size::RetentionKeys);
                }
                Ok(self.note_page(pass, page, retention_millis, now))
            }
            Err(error) if error.is_damage() => {
                log_damage(&error);
                self.next = now.wall_millis();
                self.not_before = now.after(LONGEST_PAUSE);
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    /// A page of the pass was read. Returns the removals, which are in flight from now on.
    fn note_page(
        &mut self,
        mut pass: RetentionPass,
        page: RetentionPage,
        retention_millis: u64,
        now: Now,
    ) -> Vec<Sweep> {
        if let Some(error) = page.damage {
            log_damage(&error);
            pass.is_whole = false;
        }
        if let Some(at) = page.oldest_left {
            pass.oldest_left = pass.oldest_left.min(at);
        }
        match page.next {
            Some(next) => {
                pass.cursor = next;
                self.pass = Some(pass);
            }
            None => self.end_pass(&pass, retention_millis, now),
        }
        self.removals_in_flight += page.found.len();
        page.found.into_iter().map(removal).collect()
    }

    fn end_pass(&mut self, pass: &RetentionPass, retention_millis: u64, now: Now) {
        let taken = now.monotonic.since(pass.begun);
        let rest = Duration::from_nanos(taken.saturating_mul(REST));
        let mut pause = pause(retention_millis);
        if pass.is_whole {
            self.since = pass.before.min(pass.oldest_left);
            self.next = pass.oldest_left.saturating_add(retention_millis);
        } else {
            pause = LONGEST_PAUSE;
        }
        self.not_before = now.after(pause.max(rest));
    }

    /// A removal is on disk. `removed` is false if the dead letter was gone before.
    pub(super) fn end_removal(&mut self, sweep: Sweep, removed: bool) {
        self.removals_in_flight -= 1;
        if removed {
            self.log.add(sweep.route, sweep.id);
        }
    }

    /// Writes what was removed into the log. Returns when to call this again.
    pub(super) fn write_log(&mut self, now: Now) -> Option<Tick> {
        self.log.write(now, REMOVED)
    }
}

fn removal(dead: TimedTask) -> Sweep {
    let Position { at, seq } = dead.position;
    Sweep {
        job: None,
        route: dead.route,
        id: dead.id,
        seq,
        act: SweepAct::Delete {
            place: Place::Dead(at),
        },
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

#[cfg(test)]
mod tests {
    use super::*;

    const RETENTION: u64 = 100_000;

    fn at(millis: u64) -> Now {
        Now {
            wall_nanos: millis * 1_000_000,
            monotonic: Tick::new(millis * 1_000_000),
        }
    }

    /// A page with a dead letter for each time of death.
    fn page(deaths: &[u64], oldest_left: Option<u64>, has_more: bool) -> RetentionPage {
        let dead = |at: &u64| TimedTask {
            position: Position { at: *at, seq: *at },
            route: "route".into(),
            id: "id".into(),
        };
        RetentionPage {
            found: deaths.iter().map(dead).collect(),
            oldest_left,
            next: has_more.then(RetentionCursor::default),
            damage: None,
        }
    }

    fn read(retention: &mut DeadRetention, page: RetentionPage, now: Now) -> Vec<Sweep> {
        assert!(retention.is_due(now));
        let begin = || RetentionPass::begin(RETENTION, now);
        let pass = retention.pass.take().unwrap_or_else(begin);
        retention.note_page(pass, page, RETENTION, now)
    }

    #[test]
    fn a_pass_waits_for_its_removals_and_then_for_the_oldest_dead_letter() {
        let mut retention = DeadRetention::default();
        let now = at(500_000);
        let removals = read(&mut retention, page(&[5, 6], None, true), now);
        assert_eq!(removals.len(), 2);
        assert_eq!(
            removals[0].act,
            SweepAct::Delete {
                place: Place::Dead(5)
            }
        );
        assert_eq!(
            (retention.is_due(now), retention.next_pass(now)),
            (false, None)
        );
        for removal in removals {
            retention.end_removal(removal, true);
        }
        assert!(retention.is_due(now), "the pass continues");
        assert_eq!(
            read(&mut retention, page(&[], Some(450_000), false), now),
            []
        );
        assert_eq!(retention.next_pass(now), Some(at(550_000).monotonic));
        assert!(!retention.is_due(at(549_999)) && retention.is_due(at(550_000)));
        assert_eq!(retention.since, 400_001, "all that died before are removed");
    }

    #[test]
    fn a_death_before_the_others_brings_the_next_pass_forward() {
        let mut retention = DeadRetention::default();
        read(&mut retention, page(&[], None, false), at(500_000));
        retention.note_death(300_000, RETENTION);
        assert_eq!(retention.since, 300_000);
        let shortest_pause = RETENTION / 10;
        let next = at(500_000 + shortest_pause).monotonic;
        assert_eq!(retention.next_pass(at(500_000)), Some(next));
    }

    #[test]
    fn a_pass_that_met_damage_is_repeated_after_the_longest_pause() {
        let mut retention = DeadRetention::default();
        let damage = StoreError::damage("read a dead letter", "it is cut");
        let damaged = RetentionPage {
            damage: Some(damage),
            ..page(&[], Some(500_000), false)
        };
        read(&mut retention, damaged, at(500_000));
        assert_eq!(retention.since, 0, "what is damaged may be older");
        assert_eq!(
            retention.next_pass(at(500_000)),
            Some(at(560_000).monotonic)
        );
        retention.restart();
        assert!(retention.is_due(at(500_000)));
    }

    #[test]
    fn a_long_pass_is_followed_by_a_rest_of_nine_times_its_length() {
        let mut retention = DeadRetention::default();
        read(&mut retention, page(&[], None, true), at(500_000));
        read(&mut retention, page(&[], Some(400_000), false), at(510_000));
        assert_eq!(
            retention.next_pass(at(510_000)),
            Some(at(600_000).monotonic)
        );
    }
}
