//! Settings that make no sense are named.

use std::{panic, time::Duration};

use race_sim::{Hedged, Random, Service, Simulation};

const MS: Duration = Duration::from_millis(1);

fn simulation() -> Simulation {
    Simulation::new(Service::constant(MS))
}

#[track_caller]
fn is_refused<T>(make: impl FnOnce() -> T + panic::UnwindSafe, expected: &str) {
    let error = panic::catch_unwind(|| drop(make())).expect_err("it was accepted");
    let message = match error.downcast::<String>() {
        Ok(message) => *message,
        Err(error) => (*error.downcast_ref::<&str>().expect("a message")).to_owned(),
    };
    assert!(message.contains(expected), "{message}");
}

#[test]
fn service_times_without_a_mean_are_refused() {
    is_refused(
        || Service::constant(Duration::ZERO),
        "mean service time is zero",
    );
    is_refused(
        || Service::pareto(MS, 1.0),
        "exponent of a Pareto distribution is 1",
    );
    is_refused(|| Service::pareto(MS, f64::NAN), "is NaN");
    is_refused(|| Service::pareto(MS, f64::INFINITY), "is inf");
    is_refused(
        || Service::constant(MS).slow(1.5, 2.0),
        "share of slow jobs is 1.5",
    );
    is_refused(
        || Service::constant(MS).slow(0.5, 0.0),
        "slow jobs take 0 times",
    );
    is_refused(
        || Service::constant(MS).slow(0.5, f64::INFINITY),
        "take inf times",
    );
}

#[test]
fn counts_of_zero_are_refused() {
    is_refused(|| simulation().servers(0), "there are 0 servers");
    is_refused(|| simulation().clients(0), "there are 0 clients");
    is_refused(|| simulation().seeds(0), "there are 0 seeds");
    is_refused(
        || simulation().requests(10, 10),
        "10 of 10 requests are the warm-up",
    );
    is_refused(
        || Hedged::new(MS, Random).max_attempts(0),
        "at most 0 attempts",
    );
}

#[test]
fn loads_and_speeds_out_of_their_range_are_refused() {
    is_refused(|| simulation().load(0.0), "the load is 0");
    is_refused(|| simulation().load(f64::NAN), "the load is NaN");
    is_refused(
        || simulation().pulse(MS, MS, 1.0),
        "a pulse from 1ms to 1ms",
    );
    is_refused(|| simulation().pulse(MS, 2 * MS, -1.0), "the load is -1");
    is_refused(|| simulation().slow_servers(1, -2.0), "takes -2 times");
    is_refused(
        || simulation().slow_periods(MS, Duration::ZERO, 2.0),
        "neither may be zero",
    );
    is_refused(|| simulation().correlation(1.1), "the correlation is 1.1");
}

#[test]
fn drawn_times_and_runs_that_are_impossible_are_refused() {
    let run = |service: Service, load| {
        let simulation = Simulation::new(service).requests(10, 0).load(load).seeds(1);
        simulation.run("never", |_| Hedged::never(Random))
    };
    is_refused(
        move || run(Service::new("wrong", MS, |_| f64::NAN), 0.5),
        "a service time of NaN seconds",
    );
    is_refused(
        move || run(Service::new("wrong", MS, |_| -1.0), 0.5),
        "a service time of -1 seconds",
    );
    is_refused(
        move || run(Service::constant(MS), 1e-18),
        "longer than 584 years",
    );
}
