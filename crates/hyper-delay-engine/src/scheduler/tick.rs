use std::{mem, time::Duration};

use race_wheel::Tick;

use super::{CommitToken, Scheduler, Timer};
use crate::{clock::Now, ledger::Op};
use hyper_delay_store::Store;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::scheduler::tick";

/// The maximum number of timers that one tick expires, so that other work is not delayed.
const TIMERS: usize = 1024;

/// The interval at which a change of the wall clock is looked for while there is any task in memory,
/// or more to read.
const CLOCK_CHECK: Duration = Duration::from_secs(1);

/// The same while any task is in flight, for a stall: one is known by a call that comes late.
const STALL_CHECK: Duration = Duration::from_millis(100);

/// The time of the scheduler's next call, if no input comes before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextCall {
    /// At once: there is more to do.
    Now,
    /// At this moment.
    At(Tick),
    /// There is nothing to wait for.
    Never,
}

impl<S: Store> Scheduler<S> {
    /// Advances the time and delivers what is due. Does a bounded amount of work.
    ///
    /// While the server ends, the time changes nothing: all tasks are on disk, and the next start
    /// delivers them.
    pub fn tick(&mut self, now: Now) -> NextCall {
        self.now = now;
        if self.is_shutting_down {
            return NextCall::Never;
        }
        if let Some(late) = self.stalls.take_lateness(now.monotonic) {
            self.tasks
                .extend_rounds_after_stall(late, now.monotonic, &mut self.timers);
        }
        let next = self.advance(now);
        self.stalls.expect_call(next, now.monotonic);
        next
    }

    /// Does what is due.
    fn advance(&mut self, now: Now) -> NextCall {
        if let Some(milliseconds) = self.clock_step.take(now) {
            tracing::warn!(
                target: TARGET,
                %milliseconds,
                "the wall clock was set: timers are set anew",
            );
            self.tasks.rearm_after_clock_step(now, &mut self.timers);
        }
        self.fire_timers();
        self.read();
        self.refill_requested();
        self.expire_tasks();
        self.remove_old_dead();
        self.continue_bulk();
        self.remove_departed();
        self.advance_low_water();
        self.begin_retrying_check();
        let next = self.timers.next_deadline();
        let is_due = next.is_some_and(|at| at <= now.monotonic);
        let has_more = self.has_more_to_read() || self.has_route_to_refill();
        if is_due
            || has_more
            || self.routes.has_departed()
            || self.wants_bulk()
            || self.wants_removal()
        {
            return NextCall::Now;
        }
        let logs = [self.expiry.write_log(now), self.retention.write_log(now)];
        let removal = self.next_removal();
        let is_waiting = self.horizon.has_more() || self.tasks.len() > 0 || removal.is_some();
        let check = match self.tasks.in_flight() {
            0 => CLOCK_CHECK,
            _ => STALL_CHECK,
        };
        let clock_check = is_waiting.then(|| now.after(check));
        let deadlines = [next, clock_check, removal];
        let deadlines = deadlines.into_iter().chain(logs).flatten();
        deadlines.min().map_or(NextCall::Never, NextCall::At)
    }

    fn fire_timers(&mut self) {
        let mut expired = mem::take(&mut self.expired);
        expired.extend(self.timers.poll_limited(self.now.monotonic, TIMERS));
        for timer in expired.drain(..) {
            match timer {
                Timer::Due(seq) => {
                    if self.tasks.come_due(seq, self.now, &mut self.timers) {
                        self.offer(seq);
                    }
                }
                Timer::RoundEnd(seq) => self.round_timed_out(seq),
                Timer::NextCopy(seq) => self.advance_round(seq),
                Timer::CopyTimeout(end) => self.copy_timed_out(&end),
                Timer::InheritedEnd(seq) => self.end_inherited(seq),
                Timer::RateRefilled(route) => self.resume_rate_limited(&route),
            }
        }
        self.expired = expired;
    }

    /// Begins to compare the index of retrying tasks with the tasks, once, if it has a row.
    fn begin_retrying_check(&mut self) {
        let wants_check = mem::take(&mut self.wants_retrying_check);
        if !wants_check || !self.settings.release.keeps_failures() {
            return;
        }
        match self.view.has_retrying() {
            Ok(true) => self.check_retrying(Some(Box::default())),
            Ok(false) => {}
            Err(error) => self.fail(error),
        }
    }

    /// Compares the next page of the index of retrying tasks with the tasks. A server of an older
    /// version may have left rows in it.
    pub(super) fn check_retrying(&mut self, after: Option<Box<[u8]>>) {
        if let Some(after) = after {
            self.submit(Op::CheckRetrying { after }, CommitToken::None);
        }
    }

    /// Tells the ledger from when on tasks wait. While nothing happens after that, the mark stays:
    /// no task was removed that a start would have to step over.
    fn advance_low_water(&mut self) {
        if !self.low_water.is_due(self.now) || self.commits.is_idle() {
            return;
        }
        let earliest = [
            self.tasks.earliest_waiting(),
            self.commits.earliest_time(),
            Some(self.horizon.earliest_unread()),
            Some(self.now.wall_millis()),
        ];
        let mark = earliest.into_iter().flatten().min().unwrap_or_default();
        if self.low_water.raise(mark) {
            self.submit(Op::AdvanceLowWater(mark), CommitToken::None);
        }
    }
}
