//! What attempts say by their handles.

use super::{super::plan::Sign, Model, NEVER, Running};

impl Running {
    /// When it says something or finishes.
    pub(super) fn acts(&self) -> u64 {
        let says = self.signs.last().map_or(NEVER, |(at, _)| *at);
        says.min(self.finishes)
    }
}

impl Model<'_> {
    /// Polls the running attempts until one has finished.
    pub(super) fn poll_running(&mut self) -> Option<Running> {
        self.tie |= self
            .running
            .iter()
            .filter(|it| it.acts() <= self.now)
            .count()
            > 1;
        self.poll_from(0)
    }

    /// Polls the attempts from a position on.
    pub(super) fn poll_from(&mut self, first: usize) -> Option<Running> {
        let mut finished = None;
        let (mut progressed, mut has_changed) = (false, false);
        for attempt in &mut self.running[first..] {
            while attempt.signs.last().is_some_and(|(at, _)| *at <= self.now) {
                has_changed = true;
                match attempt.signs.pop().unwrap().1 {
                    Sign::Progress => progressed = true,
                    Sign::Hold => attempt.holds = true,
                    Sign::Release => attempt.holds = false,
                    Sign::Commit if attempt.committed => {}
                    Sign::Commit if self.free > 0 => {
                        attempt.committed = true;
                        self.free -= 1;
                    }
                    Sign::Commit => {
                        // It waits, and is removed.
                        attempt.signs.clear();
                        attempt.finishes = NEVER;
                    }
                }
            }
            if attempt.finishes <= self.now {
                finished = Some(attempt.index);
                break;
            }
        }
        self.heed(progressed);
        if has_changed && self.due() > self.now {
            self.put_place_back();
        }
        match finished {
            None => None,
            Some(index) if self.running.iter().any(|it| it.index == index) => {
                Some(self.take(index))
            }
            Some(_) => self.poll_from(0), // it has lost
        }
    }

    fn heed(&mut self, progressed: bool) {
        let has_delay = !matches!(self.delay, 0 | NEVER);
        if progressed && has_delay && !self.stopped && self.by_time != NEVER {
            self.by_time = self.by_time.max(self.now + self.delay);
        }
        self.suspend();
        if self.is_decided() {
            self.put_place_back();
            (self.stopped, self.source_over, self.in_hand) = (true, true, false);
            self.running.retain(|it| it.committed);
        }
    }

    fn suspend(&mut self) {
        let suspended = self.running.iter().any(|it| it.holds);
        self.held |= self.suspended && !suspended;
        self.suspended = suspended;
    }

    /// Removes an attempt that has ended. Its hold ends with it.
    pub(super) fn take(&mut self, index: usize) -> Running {
        let position = self.running.iter().position(|it| it.index == index);
        let ended = self.running.remove(position.unwrap());
        self.suspend();
        ended
    }

    /// Whether no further attempt can win.
    pub(super) fn is_decided(&self) -> bool {
        self.plan.has_handles && self.free == 0
    }

    /// An attempt whose output is accepted takes the place of one that commits.
    pub(super) fn claim(&mut self, accepted: &Running) {
        if !accepted.committed {
            self.free = self.free.saturating_sub(1);
        }
        self.heed(false);
    }

    /// When the delay makes the next start due.
    pub(super) fn by_time(&self) -> u64 {
        match self.suspended {
            true => NEVER,
            false => self.by_time,
        }
    }
}
