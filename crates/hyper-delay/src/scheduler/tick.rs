use std::time::Duration;

use race_wheel::Tick;

use super::{Input, Scheduler, Timer, Token};
use crate::{clock::Now, ledger::Op, store::Store};

/// Timers that expire in one go, so that others have their turn.
const CHUNK: usize = 1024;

/// How often the wall clock is looked at while anything is pending.
const GLANCE: Duration = Duration::from_secs(1);

/// How often the low-water mark on disk is raised.
const MARK: Duration = Duration::from_secs(10);

/// When the scheduler wants to be called again, if nothing happens before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// At once: there is more to do.
    Now,
    /// Then.
    At(Tick),
    /// There is nothing to wait for.
    Never,
}

impl<S: Store> Scheduler<S> {
    /// Something has happened.
    pub fn handle(&mut self, input: Input, now: Now) {
        self.now = now;
        match input {
            Input::Opened(consumer) => self.opened(consumer),
            Input::Closed(consumer) => self.closed(consumer),
            Input::Asked(consumer, asks) => {
                for ask in asks {
                    self.asked(consumer, ask);
                }
            }
            Input::Stats {
                consumer,
                stats,
                route,
                after,
                tag,
                weight,
            } => self.stats(consumer, stats, route, after, tag, weight),
            Input::Committed(committed) => self.all_committed(committed),
            Input::Unsent { consumer, seq, id } => self.unsent(consumer, &id, seq),
            Input::Settings(settings) => self.reconfigure(*settings),
            Input::Ending => self.ending = true,
            Input::Copy(round) => self.hedge_copy(round),
            Input::Lost(round) => self.hedge_lost(round.number),
        }
    }

    /// Time has passed: what is due goes on its way. Does a bounded amount of work.
    pub fn tick(&mut self, now: Now) -> Next {
        self.now = now;
        self.look_at_the_clock();
        let expired: Vec<Timer> = self.wheel.poll(now.monotonic).take(CHUNK).collect();
        let more = expired.len() == CHUNK;
        for timer in expired {
            match timer {
                Timer::Due(seq) => self.came_due(seq),
                Timer::Answer { consumer, id } => self.overdue(consumer, &id),
            }
        }
        if self.wants_to_read()
            && let Err(error) = self.read()
        {
            self.fail(error);
        }
        self.refill_wanting();
        self.raise_the_mark();
        let more = self.leave_departed() || more;
        if more || self.wants_to_read() || !self.wanting.is_empty() {
            return Next::Now;
        }
        let glance = (self.window.beyond || self.window.armed > 0).then(|| now.after(GLANCE));
        match self.wheel.next_deadline().into_iter().chain(glance).min() {
            Some(at) => Next::At(at),
            None => Next::Never,
        }
    }

    /// Tells the ledger from when on things wait.
    fn raise_the_mark(&mut self) {
        if self.now.monotonic < self.next_mark {
            return;
        }
        self.next_mark = self.now.after(MARK);
        let in_memory = self.tasks.values().filter(|task| !task.parked);
        let mark = in_memory
            .map(|task| task.at)
            .chain(self.promised.earliest())
            .chain([self.window.read_from(), self.now.wall_millis()])
            .min()
            .unwrap_or(0);
        if mark > self.mark {
            self.mark = mark;
            self.submit(Op::NothingBefore(mark), Token::Own(None));
        }
    }
}
