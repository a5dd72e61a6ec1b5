//! The race itself, on the virtual clock.

use std::{
    cell::{Cell, RefCell},
    pin::pin,
    time::Duration,
};

use futures::StreamExt as _;
use race::{
    Budget, Failed, Failure, GenericRace, InlineRace, Policy, QuorumError, Verdict, Won,
    core::{
        AttemptSet, Hook, Race,
        outcome::GenericRaceError,
        placement::{OneWaker, Placement},
    },
    observe::{Cause, Event, EventKind, OnEvent},
    outcome::Failures,
    policy::{Permit, RaceState},
    test::{VirtualClock, VirtualTimer},
};

use super::{
    End, Outcome,
    plan::{Failing, Finisher, NEVER, Plan, Set},
    polls,
    source::{Output, PlannedSource},
};
use crate::probe::ms;

type Attempt = std::pin::Pin<Box<dyn Future<Output = Output>>>;

struct Ended {
    end: End,
    accepted: Vec<(usize, u64)>,
    failed: Vec<(usize, u64, bool)>,
    /// How many attempts failed, kept or not.
    failures: usize,
}

impl Ended {
    fn new<'a>(end: End, accepted: impl IntoIterator<Item = &'a Won<usize, Output>>) -> Self {
        Self {
            end,
            accepted: accepted.into_iter().map(of_winner).collect(),
            failed: vec![],
            failures: 0,
        }
    }

    fn with_failed(mut self, failed: &impl Failures<Arg = usize, Error = Output>) -> Self {
        self.failed = failed.as_slice().iter().map(of_failure).collect();
        self.failures = failed.total();
        self
    }
}

/// The delays and pauses of a plan.
struct Planned<'a>(&'a Plan);

impl Policy for Planned<'_> {
    fn delay(&mut self, index: usize, _: Cause) -> Option<Duration> {
        self.0.delays.get(index - 1).copied().flatten().map(ms)
    }

    fn pause(&mut self, failures: usize) -> Duration {
        match self.0.pauses.get(failures - 1) {
            None => ms(0),
            Some(&NEVER) => Duration::MAX,
            Some(&pause) => ms(pause),
        }
    }
}

pub(super) fn run(plan: &Plan) -> Outcome {
    let clock = VirtualClock::new();
    let outcome = RefCell::new(Outcome::default());
    let (timer, policy) = (clock.timer(), Planned(plan));
    let source = PlannedSource::new(plan, &clock, &outcome);
    let ended = match plan.set {
        Set::Heap => gate(
            plan,
            &clock,
            &outcome,
            Race::at(timer).from_source(policy, source),
        ),
        Set::OneWaker => {
            let race = GenericRace::<OneWaker, _, _, _>::at(timer).from_source(policy, source);
            gate(plan, &clock, &outcome, race)
        }
        Set::InlineOne => {
            let race = InlineRace::<1, _, _, _>::at(timer).from_source(policy, source);
            gate(plan, &clock, &outcome, race)
        }
        Set::InlineThree => {
            let race = InlineRace::<3, _, _, _>::at(timer).from_source(policy, source);
            gate(plan, &clock, &outcome, race)
        }
    };
    let mut outcome = outcome.into_inner();
    if let Some(ended) = ended {
        outcome.at = clock.elapsed().as_millis() as u64;
        outcome.end = ended.end;
        outcome.accepted = ended.accepted;
        outcome.failed = ended.failed;
        outcome.failures = ended.failures;
    }
    outcome
}

/// The bounds of a race that can be polled, once.
macro_rules! step {
    ($name:ident<$set:ident, $hooks:ident>($plan:ident, $clock:ident, $outcome:ident, $race:ident) $body:block) => {
        fn $name<'a, $set, $hooks>(
            $plan: &'a Plan,
            $clock: &'a VirtualClock,
            $outcome: &'a RefCell<Outcome>,
            $race: GenericRace<$set, PlannedSource<'a>, VirtualTimer, Planned<'a>, $hooks>,
        ) -> Option<Ended>
        where
            $set: Placement,
            $set::Set<Attempt, (usize, usize)>: AttemptSet<Attempt, (usize, usize)>,
            $hooks: Hook,
        $body
    };
}

step! { gate<A, H>(plan, clock, outcome, race) {
    let Some(planned) = plan.gate else {
        return budget(plan, clock, outcome, race);
    };
    let asked = Cell::new(0);
    let gate = move |state: &RaceState<'_>| {
        asked.set(asked.get() + 1);
        planned.answer(state.index, state.failed, asked.get())
    };
    budget(plan, clock, outcome, race.gate(gate))
}}

impl super::plan::Gate {
    pub(super) fn answer(&self, index: usize, failed: usize, asked: usize) -> Permit {
        let is_set = |bits: u16| bits >> index & 1 == 1;
        if is_set(self.permits) || failed >= self.failures || asked > self.patience {
            Permit::Start
        } else if is_set(self.defers) {
            Permit::NotNow
        } else {
            Permit::Stop
        }
    }
}

step! { budget<A, H>(plan, clock, outcome, race) {
    let Some(planned) = plan.budget else {
        return options(plan, clock, outcome, race);
    };
    let budget = Budget::percent(planned.percent).reserve(planned.reserve);
    let budget = match planned.charges_failover {
        true => budget.charge_failover(),
        false => budget,
    };
    let race = race.budget(std::sync::Arc::new(budget));
    options(plan, clock, outcome, race)
}}

step! { options<A, H>(plan, clock, outcome, race) {
    let causes = move |event: Event| {
        if event.kind == EventKind::Started {
            outcome.borrow_mut().causes.push(event.cause);
        }
    };
    let mut race = race.observer(plan.is_observed.then(|| OnEvent::new(causes)));
    if let Some(on_failure) = plan.on_failure {
        race = race.on_failure(on_failure);
    }
    if let Some(catch_up) = plan.catch_up {
        race = race.catch_up(catch_up);
    }
    if let Some(max) = plan.max_attempts {
        race = race.max_attempts(max);
    }
    if let Some(max) = plan.max_in_flight {
        race = race.max_in_flight(max);
    }
    if let Some(gap) = plan.min_gap {
        race = race.min_gap(ms(gap));
    }
    if let Some(timeout) = plan.attempt_timeout {
        race = race.attempt_timeout(ms(timeout));
    }
    if let Some(deadline) = plan.deadline {
        race = race.deadline(ms(deadline));
    }
    finish(plan, clock, outcome, race)
}}

step! { finish<A, H>(plan, clock, _outcome, race) {
    match plan.finisher {
        Finisher::FirstBy => {
            let ended = polls::run(plan, clock, race.first_by(verdict))?;
            Some(match ended {
                Ok(won) => Ended::new(End::Reached, [&won]),
                Err(error) => {
                    let end = match error {
                        GenericRaceError::NoCandidates => End::NoCandidates,
                        GenericRaceError::AllFailed { .. } => End::OutOfReach,
                        GenericRaceError::Fatal { .. } => End::Fatal,
                        GenericRaceError::Deadline { .. } => End::Deadline,
                        _ => unreachable!("there are no more variants"),
                    };
                    Ended::new(end, []).with_failed(&error.into_failed())
                }
            })
        }
        Finisher::QuorumBy(needed) => {
            let ended = polls::run(plan, clock, race.quorum_by(needed, verdict))?;
            Some(match ended {
                Ok(accepted) => Ended::new(End::Reached, &accepted),
                Err(error) => {
                    let end = match error {
                        QuorumError::NoCandidates => End::NoCandidates,
                        QuorumError::OutOfReach(_) => End::OutOfReach,
                        QuorumError::Fatal(_) => End::Fatal,
                        QuorumError::Deadline(_) => End::Deadline,
                        _ => unreachable!("there are no more variants"),
                    };
                    let (accepted, failed) = match error.into_tally() {
                        Some(tally) => (tally.accepted, tally.failed),
                        None => (vec![], vec![]),
                    };
                    Ended::new(end, &accepted).with_failed(&failed)
                }
            })
        }
        Finisher::First => {
            let won = polls::run(plan, clock, race.first())?;
            let end = if won.is_some() { End::Reached } else { End::OutOfReach };
            Some(Ended::new(end, &won))
        }
        Finisher::Stream => {
            let mut race = pin!(race);
            let read = async {
                let mut finished = vec![];
                while let Some((index, _)) = race.next().await {
                    finished.push((index, clock.elapsed().as_millis() as u64));
                }
                assert!(race.next().await.is_none(), "a race stays ended");
                finished
            };
            let finished = polls::run(plan, clock, read)?;
            let mut ended = Ended::new(End::Reached, []);
            ended.accepted = finished;
            Some(ended)
        }
    }
}}

fn verdict(output: &Output) -> Verdict {
    match *output {
        Ok(()) => Verdict::Accept,
        Err(Failing::Retryable) => Verdict::Retryable,
        Err(Failing::Fatal) => Verdict::Fatal,
        Err(Failing::NotBefore(delay)) => Verdict::NotBefore(ms(delay)),
        Err(Failing::NoMoreStarts) => Verdict::NoMoreStarts,
    }
}

fn of_winner(won: &Won<usize, Output>) -> (usize, u64) {
    assert_eq!(won.arg, won.index);
    (won.index, won.elapsed.as_millis() as u64)
}

fn of_failure(failed: &Failed<usize, Output>) -> (usize, u64, bool) {
    assert_eq!(failed.arg, failed.index);
    let timed_out = matches!(failed.failure, Failure::TimedOut(_));
    (failed.index, failed.elapsed.as_millis() as u64, timed_out)
}
