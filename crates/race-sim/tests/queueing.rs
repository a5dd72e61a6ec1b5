//! Figures that queueing theory gives.

use std::{sync::Arc, time::Duration};

use race_sim::{
    Hedged, Losers, Random, Report, Service, Simulation, TwoChoices, race_core::Adaptive,
};

const MS: Duration = Duration::from_millis(1);

#[track_caller]
fn is_close(figure: f64, expected: f64, tolerance: f64) {
    let difference = (figure / expected - 1.0).abs();
    assert!(
        difference <= tolerance,
        "{figure} is not {expected} within {tolerance}"
    );
}

/// Small enough for a build without optimization.
fn simulation(service: Service) -> Simulation {
    Simulation::new(service).requests(40_000, 4_000)
}

fn mean(report: &Report) -> f64 {
    report.mean().as_secs_f64() / MS.as_secs_f64()
}

#[test]
fn one_server_has_the_mean_latency_of_pollaczek_and_khinchine() {
    let load = 0.7;
    for (service, of_squares) in [
        (Service::constant(MS), 1.0),
        (Service::exponential(MS), 2.0),
        (Service::lognormal(MS, MS / 2), 1.25),
    ] {
        let name = format!("{service:?}");
        let simulation = simulation(service).servers(1).load(load).seeds(5);
        let report = simulation.run(name, |_| Hedged::never(Random));
        is_close(
            mean(&report),
            1.0 + load * of_squares / (2.0 * (1.0 - load)),
            0.05,
        );
        is_close(report.utilisation(), 100.0 * load, 0.02);
    }
}

#[test]
fn random_routes_make_each_server_a_queue_of_its_own() {
    let simulation = simulation(Service::exponential(MS))
        .servers(10)
        .load(0.5)
        .seeds(3);
    let report = simulation.run("random", |_| Hedged::never(Random));
    is_close(mean(&report), 2.0, 0.03);
    // An exponential latency: p99 is ln(100) times the mean.
    let p99 = report.percentile(99.0).as_secs_f64() / MS.as_secs_f64();
    is_close(p99, 2.0 * 100_f64.ln(), 0.04);
}

/// The fixed point for many servers (Mitzenmacher 2001): a queue has at least i jobs with the
/// probability load^(2^i - 1), so the mean latency is the sum of load^(2^i - 2) over i from 1 on.
#[test]
fn two_choices_reach_their_fixed_point() {
    let simulation = simulation(Service::exponential(MS))
        .servers(200)
        .load(0.8)
        .seeds(3);
    let report = simulation.run("two", |_| Hedged::never(TwoChoices::default()));
    let expected: f64 = (1..10).map(|i| 0.8_f64.powi(2_i32.pow(i) - 2)).sum();
    is_close(mean(&report), expected, 0.03);
}

/// With exponential service times, two copies that are cancelled in time neither cost nor save
/// work (Gardner et al., Operations Research 65(4), 2017, redundancy-d in a cluster of two).
#[test]
fn two_servers_with_cancelled_copies_are_one_fast_server() {
    let service = Service::exponential(MS);
    let simulation = simulation(service).servers(2).load(0.6).seeds(3);
    let both = simulation.run("both", |_| Hedged::new(Duration::ZERO, Random));
    is_close(mean(&both), 0.5 / (1.0 - 0.6), 0.04);
    is_close(both.extra_load(), 100.0, 1e-9);
    is_close(both.utilisation(), 60.0, 0.03);
    is_close(both.wasted(), 50.0, 0.03);
}

#[test]
fn losers_that_run_on_double_the_load() {
    let simulation = simulation(Service::constant(MS))
        .servers(20)
        .load(0.3)
        .losers(Losers::RunOn)
        .seeds(3);
    let both = simulation.run("both", |_| Hedged::new(Duration::ZERO, Random));
    is_close(both.utilisation(), 60.0, 0.03);
    is_close(both.wasted(), 50.0, 0.03);
}

#[test]
fn slow_servers_have_less_capacity() {
    let simulation = simulation(Service::constant(MS))
        .servers(4)
        .load(0.2)
        .seeds(2);
    let slow = simulation.slow_servers(2, 4.0);
    let report = slow.run("random", |_| Hedged::never(Random));
    // Half of the requests take 4 ms or more.
    assert!(report.percentile(51.0) >= 4 * MS);
    assert!(report.percentile(10.0) == MS);
    // 0.2 of 2.5 servers is 0.5 jobs per ms; of them a half keeps two servers busy for 1 ms, and
    // the other half for 4 ms.
    is_close(report.utilisation(), 100.0 * 0.5 * 2.5 / 4.0, 0.03);
}

#[test]
fn slow_periods_take_their_share_of_the_time() {
    let service = Service::constant(MS / 100);
    let simulation = simulation(service).servers(4).load(0.05).seeds(3);
    let slow = simulation.slow_periods(90 * MS, 10 * MS, 10.0);
    let report = slow.run("random", |_| Hedged::never(Random));
    let is_slow = |percent| report.percentile(percent) >= MS / 10;
    assert!(is_slow(93.0) && !is_slow(85.0), "{report}");
}

#[test]
fn pulse_raises_the_load_for_its_time() {
    let simulation = simulation(Service::constant(MS)).load(0.2).seeds(2);
    let ms = |count| count * MS;
    let pulsed = simulation
        .requests(40_000, 0)
        .pulse(ms(1_000), ms(2_000), 0.6);
    let report = pulsed.run("random", |_| Hedged::never(Random));
    let count = |from, until| {
        report
            .between(ms(from), ms(until))
            .median(|run| run.requests() as f64)
    };
    is_close(count(0, 1_000), 3_200.0, 0.1);
    is_close(count(1_000, 2_000), 9_600.0, 0.1);
    is_close(count(2_000, 3_000), 3_200.0, 0.1);
}

#[test]
fn overload_is_unstable() {
    let simulation = simulation(Service::exponential(MS)).servers(4).seeds(3);
    let run = |load| {
        simulation
            .clone()
            .load(load)
            .run("random", |_| Hedged::never(Random))
    };
    assert!(!run(0.6).is_unstable());
    let overloaded = run(1.1);
    assert!(overloaded.is_unstable());
    assert!(overloaded.to_string().ends_with("  unstable"));
}

#[test]
fn clients_that_count_only_their_own_attempts_choose_worse() {
    let simulation = simulation(Service::exponential(MS)).load(0.9).seeds(3);
    let run = |clients| {
        let simulation = simulation.clone().clients(clients);
        simulation
            .run("two", |_| Hedged::never(TwoChoices::default()))
            .mean()
    };
    let (one, many) = (run(1), run(50));
    assert!(many > 2 * one, "{one:?} {many:?}");
}

#[test]
fn same_seeds_give_the_same_figures() {
    let service = Service::exponential(MS).slow(0.02, 10.0);
    let simulation = simulation(service).requests(5_000, 500).seeds(4);
    let run = || {
        let policy = |_: &race_sim::Setup| Arc::new(Adaptive::extra_load(5.0));
        let report = simulation.run("5 %", |setup| {
            Hedged::new(policy(setup), TwoChoices::default())
        });
        report.to_string()
    };
    assert_eq!(run(), run());
}
