//! What a race does, said as plainly as possible: instant by instant, with a list of what runs.

use race::OnFailure;

use super::{
    End, Outcome,
    plan::{Failing, Plan},
};

const NEVER: u64 = u64::MAX;

/// The next instant at which anything happens, or the end.
enum Then {
    At(u64),
    End(End),
}

struct Simulator<'a> {
    plan: &'a Plan,
    now: u64,
    /// Place, when it finishes, when it times out.
    running: Vec<(usize, u64, u64)>,
    /// `NEVER` waits for a failure.
    due: u64,
    pushed_back: u64,
    stopped: bool,
    /// It had to wait for something, so that its deadline counts.
    waited: bool,
    /// In hundredths of an attempt.
    savings: u64,
    outcome: Outcome,
}

pub(super) fn simulate(plan: &Plan) -> Outcome {
    let mut simulator = Simulator {
        plan,
        now: 0,
        running: Vec::new(),
        due: 0,
        pushed_back: 0,
        stopped: false,
        waited: false,
        savings: plan
            .budget
            .map_or(0, |(_, reserve)| u64::from(reserve) * 100),
        outcome: Outcome::default(),
    };
    let end = loop {
        match simulator.instant() {
            Then::End(end) => break end,
            Then::At(NEVER) => break End::Hangs,
            Then::At(next) => simulator.now = next,
        }
    };
    let mut outcome = simulator.outcome;
    outcome.end = end;
    outcome.at = simulator.now;
    match end {
        End::Won => outcome.failed.clear(), // the winners are given without them
        End::Hangs => (outcome.accepted, outcome.failed) = (vec![], vec![]),
        _ => outcome.failed.sort_unstable(),
    }
    outcome
}

impl Simulator<'_> {
    /// Everything that happens now.
    fn instant(&mut self) -> Then {
        loop {
            let (accepted, needed) = (self.outcome.accepted.len(), self.plan.needed.unwrap_or(1));
            if accepted >= needed {
                return Then::End(End::Won);
            }
            let at_most = accepted + self.running.len() + self.startable();
            if at_most < needed && (self.plan.needed.is_some() || self.running.is_empty()) {
                return Then::End(self.over());
            }
            if self.running.is_empty() && self.plan.on_failure != OnFailure::Wait {
                self.due = self.due.min(self.now);
            }
            let finished = self.running.iter().position(|&(_, at, _)| at <= self.now);
            if let Some(index) = finished {
                let (place, ..) = self.running.remove(index);
                if let Some(end) = self.finish(place) {
                    return Then::End(end);
                }
                continue;
            }
            let start = self.next_start();
            if start <= self.now && self.alarm() > self.now {
                if self.is_refused() {
                    self.due = NEVER;
                    if self.running.is_empty() {
                        return Then::End(End::OutOfReach);
                    }
                    continue;
                }
                if let Some(end) = self.start() {
                    return Then::End(end);
                }
                continue;
            }
            if start == NEVER && self.running.is_empty() {
                return Then::End(self.over());
            }
            self.waited = true;
            let alarm = self.alarm();
            if alarm <= self.now {
                let timed_out = self.running.iter().position(|&(.., at)| at == alarm);
                let Some(index) = timed_out else {
                    return Then::End(End::Deadline);
                };
                let (place, ..) = self.running.remove(index);
                self.fail(place, true);
                continue;
            }
            let finishes = self.running.iter().map(|&(_, at, _)| at);
            return Then::At(finishes.chain([start, alarm]).min().unwrap());
        }
    }

    fn over(&self) -> End {
        match self.plan.candidates.is_empty() {
            true => End::NoCandidates,
            false => End::OutOfReach,
        }
    }

    /// How many candidates may still start.
    fn startable(&self) -> usize {
        let starts = self.outcome.starts.len();
        let most = self.plan.max_attempts.unwrap_or(usize::MAX).max(1);
        match self.stopped {
            true => 0,
            false => self.plan.candidates.len().min(most).saturating_sub(starts),
        }
    }

    /// `NEVER` if something has to happen first.
    fn next_start(&self) -> u64 {
        let full = self.running.len() >= self.plan.max_in_flight.unwrap_or(usize::MAX).max(1);
        if full || self.startable() == 0 || self.due == NEVER {
            return NEVER;
        }
        let gap_over = match self.outcome.starts.last() {
            Some(last) => last + self.plan.min_gap,
            None => 0,
        };
        self.due.max(gap_over).max(self.pushed_back)
    }

    fn alarm(&self) -> u64 {
        let timeout = self.running.iter().map(|&(.., at)| at).min();
        let deadline = self.plan.deadline.filter(|_| self.waited);
        timeout.unwrap_or(NEVER).min(deadline.unwrap_or(NEVER))
    }

    fn is_refused(&mut self) -> bool {
        let place = self.outcome.starts.len();
        if place == 0 {
            return false;
        }
        if let Some((places, failures)) = self.plan.gate {
            if places >> place & 1 == 0 && self.outcome.failed.len() < failures {
                return true;
            }
        }
        if self.plan.budget.is_none() || place < self.plan.needed.unwrap_or(1) {
            return false;
        }
        let poor = self.savings < 100;
        self.savings = self.savings.saturating_sub(100);
        poor
    }

    fn start(&mut self) -> Option<End> {
        let place = self.outcome.starts.len();
        self.outcome.starts.push(self.now);
        if let (0, Some((percent, _))) = (place, self.plan.budget) {
            self.savings += u64::from(percent);
        }
        self.pushed_back = 0;
        self.due = match self.plan.steps.get(place).copied().flatten() {
            Some(step) => self.now + step.max(self.plan.min_gap),
            None => NEVER,
        };
        let finish = self.plan.candidates[place].latency.map(|it| self.now + it);
        if finish == Some(self.now) {
            return self.finish(place);
        }
        self.waited = true;
        let timeout = self.plan.attempt_timeout.map(|it| self.now + it);
        self.running
            .push((place, finish.unwrap_or(NEVER), timeout.unwrap_or(NEVER)));
        None
    }

    fn finish(&mut self, place: usize) -> Option<End> {
        match self.plan.candidates[place].result {
            Ok(()) => self.outcome.accepted.push((place, self.now)),
            Err(Failing::Fatal) => return Some(End::Fatal(place)),
            Err(failing) => {
                match failing {
                    Failing::NotBefore(delay) => {
                        self.pushed_back = self.pushed_back.max(self.now + delay);
                    }
                    Failing::NoMoreStarts => self.stopped = true,
                    Failing::Retryable | Failing::Fatal => {}
                }
                self.fail(place, false);
            }
        }
        None
    }

    fn fail(&mut self, place: usize, timed_out: bool) {
        self.outcome.failed.push((place, self.now, timed_out));
        let calls = match self.plan.on_failure {
            OnFailure::IfLatest => place + 1 == self.outcome.starts.len(),
            OnFailure::IfIdle => self.running.is_empty(),
            OnFailure::Any => true,
            _ => false,
        };
        if calls {
            self.due = self.now;
        }
    }
}
