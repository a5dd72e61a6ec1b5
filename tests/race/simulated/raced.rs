//! The race itself, on the virtual clock.

use std::{cell::RefCell, future::pending, time::Duration};

use race::{
    Budget, Event, Failed, Failure, QuorumError, RaceError, Standing, Verdict, VirtualClock, What,
    Won, core::Race,
};

use super::{
    End, Outcome,
    plan::{Candidate, Failing, Plan},
};
use crate::probe::ms;

type Output = Result<(), Failing>;

pub(super) fn race(plan: &Plan) -> Outcome {
    let clock = VirtualClock::new();
    let outcome = RefCell::new(Outcome::default());
    let attempts = plan
        .candidates
        .iter()
        .map(|&Candidate { latency, result }| {
            let clock = clock.clone();
            async move {
                match latency {
                    Some(latency) => clock.sleep(ms(latency)).await,
                    None => pending().await,
                }
                result
            }
        });
    let step = |place: usize| plan.steps.get(place - 1).copied().flatten().map(ms);
    let (percent, reserve) = plan.budget.unwrap_or((0, u16::MAX));
    let budget = Budget::percent(percent).reserve(reserve);
    let gate = |standing: &Standing<'_>| {
        plan.gate.is_none_or(|(places, failures)| {
            places >> standing.place & 1 == 1 || standing.failed >= failures
        })
    };
    let starts = |event: Event| {
        if event.what == What::Started {
            outcome
                .borrow_mut()
                .starts
                .push(millis(event.at.as_nanos()));
        }
    };
    let race = Race::of_with(clock.timer(), Duration::ZERO, attempts)
        .policy(step)
        .budget(&budget)
        .gate(gate)
        .observer_with(clock.clone(), starts)
        .on_failure(plan.on_failure)
        .catch_up(plan.catch_up)
        .max_attempts(plan.max_attempts.unwrap_or(usize::MAX))
        .max_in_flight(plan.max_in_flight.unwrap_or(usize::MAX))
        .min_gap(ms(plan.min_gap));
    let timeout = plan.attempt_timeout.map_or(Duration::MAX, ms);
    let deadline = plan.deadline.map_or(Duration::MAX, ms);

    let ended = match plan.needed {
        Some(needed) => {
            let quorum = race.quorum_by(needed, verdict);
            let quorum = clock.run(quorum.attempt_timeout(timeout).deadline(deadline));
            quorum.map(|ended| match ended {
                Ok(accepted) => (End::Won, accepted, vec![]),
                Err(QuorumError::NoCandidates) => (End::NoCandidates, vec![], vec![]),
                Err(QuorumError::OutOfReach(it)) => (End::OutOfReach, it.accepted, it.failed),
                Err(QuorumError::Deadline(it)) => (End::Deadline, it.accepted, it.failed),
                Err(QuorumError::Fatal { fatal, tally, .. }) => {
                    (End::Fatal(fatal.place), tally.accepted, tally.failed)
                }
                Err(error) => panic!("{error:?}"),
            })
        }
        None => {
            let first = race.first_by(verdict);
            let first = clock.run(first.deadline(deadline).attempt_timeout(timeout));
            first.map(|ended| match ended {
                Ok(won) => (End::Won, vec![won], vec![]),
                Err(RaceError::NoCandidates) => (End::NoCandidates, vec![], vec![]),
                Err(RaceError::AllFailed(failed)) => (End::OutOfReach, vec![], failed),
                Err(RaceError::Deadline { failed, .. }) => (End::Deadline, vec![], failed),
                Err(RaceError::Fatal { fatal, failed, .. }) => {
                    (End::Fatal(fatal.place), vec![], failed)
                }
                Err(error) => panic!("{error:?}"),
            })
        }
    };
    let mut outcome = outcome.into_inner();
    outcome.at = millis(clock.now().as_nanos());
    if let Ok((end, accepted, failed)) = ended {
        outcome.end = end;
        outcome.accepted = accepted.iter().map(of_winner).collect();
        outcome.failed = failed.iter().map(of_failure).collect();
    }
    outcome
}

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
    assert_eq!(won.arg, won.place);
    (won.place, millis(won.elapsed.as_nanos()))
}

fn of_failure(failed: &Failed<usize, Output>) -> (usize, u64, bool) {
    assert_eq!(failed.arg, failed.place);
    let timed_out = matches!(failed.failure, Failure::TimedOut(_));
    (failed.place, millis(failed.elapsed.as_nanos()), timed_out)
}

fn millis(nanos: impl TryInto<u64, Error: std::fmt::Debug>) -> u64 {
    nanos.try_into().unwrap() / 1_000_000
}
