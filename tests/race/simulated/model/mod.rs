//! What a race does, said as plainly as possible: instant by instant, with a list of what runs.

mod signs;
mod starts;

use race::{OnFailure, observe::Cause};

use super::{
    End, Outcome, Place,
    plan::{Finisher, Kind, Plan, Set, Sign},
};

const NEVER: u64 = u64::MAX;

/// One attempt, in the unit of a budget's balance.
const ATTEMPT: u64 = 1_000;

/// The next instant at which anything happens, or the end.
enum Then {
    At(u64),
    End(End),
}

struct Running {
    index: usize,
    candidate: usize,
    finishes: u64,
    times_out: u64,
    /// What it still has to say, and when; the next one is the last.
    signs: Vec<(u64, Sign)>,
    holds: bool,
    committed: bool,
}

struct Model<'a> {
    plan: &'a Plan,
    arrivals: Vec<u64>,
    now: u64,
    running: Vec<Running>,
    /// A candidate is drawn ahead.
    in_hand: bool,
    drawn: usize,
    source_over: bool,
    /// The next start is due and waits for a place.
    awaits_place: bool,
    /// When the delay makes the next start due.
    by_time: u64,
    /// The delay from the latest start.
    delay: u64,
    /// When a failure, or that none is running, makes the next start due.
    called: u64,
    call: Cause,
    /// The pause after a failure, asked for once between two starts.
    pause: Option<u64>,
    /// No start before.
    earliest: u64,
    stopped: bool,
    /// Something other than time held up the next start when it was looked at last.
    held: bool,
    /// An attempt held starts by time when its race was polled last.
    suspended: bool,
    /// How many attempts may still commit, or be accepted.
    free: usize,
    /// Being idle makes nothing due: a gate deferred the start, or a pause never ends.
    deferred: bool,
    asked: usize,
    balance: u64,
    /// The deadline counts.
    waited: bool,
    /// Two attempts finished at the same instant: an inline race may deliver them in any order.
    tie: bool,
    outcome: Outcome,
}

/// Returns `None` if the outcome depends on the order of simultaneous completions in an inline
/// race.
pub(super) fn simulate(plan: &Plan) -> Option<Outcome> {
    let mut model = Model {
        plan,
        arrivals: plan.arrivals(),
        now: 0,
        running: vec![],
        in_hand: false,
        drawn: 0,
        source_over: plan.max_attempts == Some(0),
        awaits_place: false,
        by_time: 0,
        delay: NEVER,
        called: NEVER,
        call: Cause::Failure,
        pause: None,
        earliest: 0,
        stopped: plan.max_attempts == Some(0),
        held: false,
        suspended: false,
        free: match plan.finisher {
            Finisher::QuorumBy(needed) => needed,
            _ => 1,
        },
        deferred: false,
        asked: 0,
        balance: plan
            .budget
            .map_or(0, |budget| u64::from(budget.reserve) * ATTEMPT),
        waited: false,
        tie: false,
        outcome: Outcome::default(),
    };
    let end = loop {
        match model.instant() {
            Then::End(end) => break end,
            Then::At(NEVER) => break End::Hangs,
            Then::At(next) => model.now = next,
        }
    };
    if model.tie && plan.set != Set::Heap {
        return None;
    }
    let mut outcome = model.outcome;
    if !plan.is_observed {
        outcome.causes.clear();
    }
    outcome.end = end;
    outcome.at = model.now;
    let keeps_failures = matches!(plan.finisher, Finisher::FirstBy | Finisher::QuorumBy(_));
    match end {
        End::Reached => outcome.failed.clear(), // the winners come without them
        End::Hangs => {
            (outcome.accepted, outcome.failed) = (vec![], vec![]);
            outcome.at = 0; // the clock stops at some spurious poll
        }
        _ if !keeps_failures => outcome.failed.clear(),
        _ => {
            outcome.failures = outcome.failed.len();
            if let (Some(room), Finisher::FirstBy) = (plan.set.room(), plan.finisher) {
                let omitted = outcome.failures.saturating_sub(room);
                outcome.failed.drain(..omitted);
            }
        }
    }
    Some(outcome)
}

impl Model<'_> {
    /// Everything that happens now.
    fn instant(&mut self) -> Then {
        let mut was_refused = false;
        // A race asks whether its goal is in reach after what has finished, and before it waits.
        let mut asks = true;
        let mut in_reach = true;
        loop {
            if self.is_reached() {
                return Then::End(End::Reached);
            }
            // After a refusal with nothing running, the race is over.
            if self.running.is_empty() && !std::mem::take(&mut was_refused) {
                self.idle();
            }
            if std::mem::replace(&mut asks, true) {
                in_reach = self.is_in_reach();
            }
            let was_stopped = self.stopped;
            if let Some(finished) = self.poll_running() {
                if let Some(end) = self.finish(&finished) {
                    return Then::End(end);
                }
                continue;
            }
            // A commit may have stopped it.
            if !in_reach || self.stopped && !was_stopped && !self.is_in_reach() {
                return Then::End(self.exhausted());
            }
            let start = match self.next_start() {
                Some(start) => start,
                None if self.running.is_empty() => {
                    self.put_place_back();
                    return Then::End(self.exhausted());
                }
                None => NEVER,
            };
            if start == NEVER {
                self.put_place_back();
            }
            let at_once = start == 0;
            self.waited |= !at_once;
            if self.running.is_empty() && self.is_too_late() {
                self.put_place_back();
                return Then::End(self.exhausted());
            }
            let expiry = self.expiry();
            if start.min(expiry) > self.now {
                self.put_place_back();
                if !self.is_in_reach() {
                    continue; // the source has come to its end
                }
                return Then::At(self.next_poll(start.min(expiry)));
            }
            if expiry <= self.now {
                let timed_out = self.running.iter().find(|it| it.times_out == expiry);
                let Some(&Running { index, .. }) = timed_out else {
                    return Then::End(self.deadline());
                };
                let timed_out = self.take(index);
                if let Some(end) = self.fail(&timed_out, true) {
                    return Then::End(end);
                }
                continue;
            }
            let cause = self.cause();
            let excused = self.held;
            self.held = false;
            if self.plan.candidates[self.drawn - 1].is_taken_back {
                (self.in_hand, self.held) = (false, excused);
                continue;
            }
            if self.plan.place_from(self.now) > self.now {
                self.held = true;
                if !std::mem::replace(&mut self.awaits_place, true) {
                    self.outcome.places.push((self.now, Place::Awaited));
                }
                self.waited = true;
                if !self.is_in_reach() || self.expiry() <= self.now {
                    continue;
                }
                return Then::At(self.next_poll(self.expiry()));
            }
            self.awaits_place = false;
            self.outcome.places.push((self.now, Place::Taken));
            if !self.is_admitted(cause) {
                self.outcome.places.push((self.now, Place::PutBack));
                (was_refused, asks) = (true, false);
                continue;
            }
            let finished = self.outcome.accepted.len() + self.outcome.failed.len();
            if let Some(end) = self.start(cause, excused) {
                return Then::End(end);
            }
            asks = finished != self.outcome.accepted.len() + self.outcome.failed.len();
        }
    }

    /// The time that the race tells: since its first start, or on the clock for a stream.
    fn time(&self) -> u64 {
        match self.plan.finisher {
            Finisher::Stream => self.now,
            _ => self.now - self.outcome.starts[0],
        }
    }

    fn is_result_aware(&self) -> bool {
        matches!(
            self.plan.finisher,
            Finisher::FirstBy | Finisher::QuorumBy(_)
        )
    }

    fn needed(&self) -> usize {
        match self.plan.finisher {
            Finisher::QuorumBy(needed) => needed,
            _ => 1,
        }
    }

    fn is_reached(&self) -> bool {
        let accepted = self.outcome.accepted.len();
        self.plan.finisher != Finisher::Stream && accepted >= self.needed()
    }

    /// Whether a quorum can still be reached, as far as the race knows.
    fn is_in_reach(&self) -> bool {
        let Finisher::QuorumBy(needed) = self.plan.finisher else {
            return true;
        };
        let sure = self.outcome.accepted.len() + self.running.len();
        let more = self.startable();
        more.is_none_or(|more| sure + more >= needed)
    }

    /// How many more may start at most, as far as the race knows.
    fn startable(&self) -> Option<usize> {
        let is_late = self.earliest != 0 && self.earliest >= self.deadline_at();
        if self.stopped || is_late || self.is_endless() {
            return Some(0);
        }
        let left = self.plan.candidates.len() - self.drawn;
        let in_source = match self.plan.source {
            _ if self.source_over => Some(0),
            Kind::Exact => Some(left),
            Kind::AtMost(more) => Some(left + more),
            Kind::Unknown | Kind::Stream => None,
        };
        let candidates = in_source.map(|count| count + usize::from(self.in_hand));
        let allowed = self.plan.max_attempts.map(|max| max - self.starts());
        match (candidates, allowed) {
            (Some(candidates), Some(allowed)) => Some(candidates.min(allowed)),
            (candidates, allowed) => candidates.or(allowed),
        }
    }

    /// Nothing makes the next attempt due any more, whatever becomes of those that run.
    fn is_endless(&self) -> bool {
        let due = self.by_time.min(self.called).max(self.earliest);
        due == NEVER && (self.on_failure() == OnFailure::Wait || self.earliest == NEVER)
    }

    /// When the next attempt is due, candidates and room aside.
    fn due(&self) -> u64 {
        self.by_time().min(self.called).max(self.earliest)
    }

    /// The deadline comes before the next start, whatever the source gives.
    fn is_too_late(&self) -> bool {
        let due = self.due();
        due != 0 && due != NEVER && due >= self.deadline_at()
    }

    fn deadline_at(&self) -> u64 {
        let counts = self.waited && !self.is_decided();
        self.plan.deadline.filter(|_| counts).unwrap_or(NEVER)
    }

    fn starts(&self) -> usize {
        self.outcome.starts.len()
    }

    /// Nothing runs and nothing can start.
    fn exhausted(&self) -> End {
        let is_known_empty = match self.plan.source {
            Kind::Exact | Kind::AtMost(0) => self.plan.candidates.is_empty(),
            _ => false,
        };
        let nothing_refused = self.plan.max_attempts != Some(0) || is_known_empty;
        match self.plan.finisher {
            Finisher::Stream => End::Reached,
            Finisher::First => End::OutOfReach,
            _ if self.starts() == 0 && nothing_refused && self.startable() == Some(0) => {
                End::NoCandidates
            }
            _ => End::OutOfReach,
        }
    }

    fn deadline(&self) -> End {
        match self.plan.finisher {
            Finisher::Stream => End::Reached,
            Finisher::First => End::OutOfReach,
            _ => End::Deadline,
        }
    }

    fn on_failure(&self) -> OnFailure {
        self.plan.on_failure.unwrap_or_default()
    }

    /// Result-aware finishers do not wait with nothing running.
    fn idle(&mut self) {
        let may_call = self.is_result_aware() && self.on_failure() != OnFailure::Wait;
        let is_due = self.due() == 0;
        if may_call && !is_due && !self.deferred && self.called == NEVER {
            (self.called, self.call) = (0, Cause::Idle);
        }
    }

    /// When the next attempt can start; `NEVER` if it has to wait for room or a candidate, `None`
    /// if only a failure can make it due.
    fn next_start(&mut self) -> Option<u64> {
        let room = self.plan.set.room().unwrap_or(usize::MAX);
        let max = self.plan.max_in_flight.unwrap_or(usize::MAX).min(room);
        if self.running.len() >= max {
            self.held = true;
            if self.needed() > 1 && !self.running.is_empty() {
                self.draw();
            }
            return (!self.running.is_empty()).then_some(NEVER);
        }
        self.draw();
        if !self.in_hand {
            self.held |= !self.source_over;
            // A candidate is of no use if nothing makes it due.
            let may_be_due = self.due() != NEVER;
            return (!self.source_over && may_be_due).then_some(NEVER);
        }
        let start = self.due();
        if self.stopped || start == NEVER {
            return None;
        }
        if start > self.now {
            self.held = false; // it waits for its time
        }
        Some(start)
    }

    /// The next start is not due any more.
    fn put_place_back(&mut self) {
        if std::mem::take(&mut self.awaits_place) {
            self.outcome.places.push((self.now, Place::PutBack));
        }
    }

    fn draw(&mut self) {
        if self.in_hand || self.source_over || self.arrivals[self.drawn] > self.now {
            return;
        }
        match self.drawn < self.plan.candidates.len() {
            true => (self.in_hand, self.drawn) = (true, self.drawn + 1),
            false => self.source_over = true,
        }
    }

    /// When the next timeout or the deadline expires.
    fn expiry(&self) -> u64 {
        let timeout = self.running.iter().map(|it| it.times_out).min();
        timeout.unwrap_or(NEVER).min(self.deadline_at())
    }

    /// When the race is polled next, if it waits until `at` or until an attempt finishes.
    fn next_poll(&self, at: u64) -> u64 {
        let finishes = self.running.iter().map(Running::acts);
        let arrival = (!self.in_hand && !self.source_over).then(|| self.arrivals[self.drawn]);
        let arrival = arrival.filter(|arrival| *arrival > self.now);
        let place = self.awaits_place.then(|| self.plan.place_from(self.now));
        let spurious = self.plan.spurious.iter().copied();
        let wakes = finishes.chain(arrival).chain(place);
        let wakes = wakes.chain(spurious).chain([at]);
        let next = wakes.filter(|at| *at > self.now).min().unwrap_or(NEVER);
        match next {
            NEVER => NEVER,
            next => self.plan.polled_from(next),
        }
    }
}
