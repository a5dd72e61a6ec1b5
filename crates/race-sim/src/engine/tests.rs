//! Runs with options drawn at random. Without cancellation, a queue in which jobs are served in the
//! order of their arrival needs no events: a job ends when the one before it has ended and its own
//! time has passed. That is the model.

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

use proptest::prelude::*;
use race_core::Moment;

use crate::{
    Hedged, Losers, Random, ReportedChoices, Run, Service, Simulation, TwoChoices,
    random::{Purpose, above_zero, stream},
    service::seconds,
};

const MS: Duration = Duration::from_millis(1);
const REQUESTS: usize = 300;

#[derive(Clone, Debug)]
struct Options {
    servers: usize,
    slow_servers: Option<(usize, f64)>,
    slow_periods: Option<(u32, u32, f64)>,
    slow: Option<(f64, f64)>,
    correlation: Option<f64>,
    load: f64,
    pulse: Option<(u32, u32, f64)>,
    losers: Losers,
    message_delay: Option<u32>,
    clients: usize,
    warm_up: usize,
    seed: u64,
    client: Client,
}

#[derive(Clone, Copy, Debug)]
struct Client {
    /// After how many tenths of a millisecond the second attempt starts.
    delay: Option<u32>,
    is_tied: bool,
    route: u8,
}

fn options() -> impl Strategy<Value = Options> {
    let factor = || prop_oneof![Just(0.5), Just(3.0), Just(20.0)];
    let some = proptest::option::of::<BoxedStrategy<f64>>;
    let servers = (
        1..6_usize,
        proptest::option::of((0..4_usize, factor())),
        proptest::option::of((1..50_u32, 1..50_u32, factor())),
    );
    let service = (
        proptest::option::of((0.0..=1.0, factor())),
        some((0.0..=1.0).boxed()),
    );
    let load = (
        0.05..1.2,
        proptest::option::of((0..50_u32, 1..50_u32, 0.1..3.0)),
    );
    let network = (
        prop_oneof![Just(Losers::RunOn), Just(Losers::Cancelled)],
        proptest::option::of(0..20_u32),
    );
    let clients = (1..4_usize, 0..REQUESTS / 2, any::<u64>());
    let client = (proptest::option::of(0..40_u32), any::<bool>(), 0..3_u8);
    (servers, service, load, network, clients, client).prop_map(
        |(servers, service, load, network, clients, client)| Options {
            servers: servers.0,
            slow_servers: servers.1,
            slow_periods: servers.2,
            slow: service.0,
            correlation: service.1,
            load: load.0,
            pulse: load.1,
            losers: network.0,
            message_delay: network.1,
            clients: clients.0,
            warm_up: clients.1,
            seed: clients.2,
            client: Client {
                delay: client.0,
                is_tied: client.1,
                route: client.2,
            },
        },
    )
}

impl Options {
    fn simulation(&self) -> Simulation {
        let mut service = Service::exponential(MS);
        if let Some((share, factor)) = self.slow {
            service = service.slow(share, factor);
        }
        let mut simulation = Simulation::new(service)
            .servers(self.servers)
            .load(self.load)
            .losers(self.losers)
            .clients(self.clients)
            .requests(REQUESTS, self.warm_up);
        if let Some((count, factor)) = self.slow_servers {
            simulation = simulation.slow_servers(count, factor);
        }
        if let Some((every, last, factor)) = self.slow_periods {
            simulation = simulation.slow_periods(every * MS, last * MS, factor);
        }
        if let Some((from, lasts, load)) = self.pulse {
            simulation = simulation.pulse(from * MS, (from + lasts) * MS, load);
        }
        if let Some(delay) = self.message_delay {
            simulation = simulation.message_delay(delay * MS / 10);
        }
        if let Some(correlation) = self.correlation {
            simulation = simulation.correlation(correlation);
        }
        simulation
    }

    fn run(&self) -> Run {
        match self.client.route {
            0 => self.run_with(|| Random),
            1 => self.run_with(TwoChoices::default),
            _ => self.run_with(|| ReportedChoices),
        }
    }

    fn run_with<R: crate::Route>(&self, route: impl Fn() -> R) -> Run {
        let Client { delay, is_tied, .. } = self.client;
        let delay = delay.map(|tenths| tenths * MS / 10);
        let client = |_: &crate::Setup| {
            let hedged = Hedged::new(move |_| delay, route());
            if is_tied { hedged.tied() } else { hedged }
        };
        super::run(&self.simulation(), self.seed, client).expect("every request is answered")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_run_keeps_the_invariants(options in options()) {
        let run = options.run();
        prop_assert_eq!(run.requests(), REQUESTS - options.warm_up);
        prop_assert!((0.0..=100.0).contains(&run.extra_load()));
        prop_assert!((0.0..=100.0).contains(&run.wasted()));
        prop_assert!((0.0..=100.0 + 1e-9).contains(&run.utilisation()));
        if options.client.delay.is_none() {
            prop_assert_eq!(run.extra_load(), 0.0);
            prop_assert_eq!(run.wasted(), 0.0);
        }
        if options.client.delay == Some(0) {
            prop_assert_eq!(run.extra_load(), 100.0);
        }
        let fastest = [options.slow_servers.map(|it| it.1), options.slow_periods.map(|it| it.2)];
        let least = fastest.into_iter().flatten().fold(1.0, |all, it| all * it.min(1.0));
        prop_assert!(run.mean().as_secs_f64() > 0.01 * MS.as_secs_f64() * least);
    }

    #[test]
    fn runs_without_cancellation_match_the_model(mut options in options()) {
        options.losers = Losers::RunOn;
        options.slow_periods = None;
        options.client.is_tied = false;
        options.client.route = 0;
        let expected = model(&options);
        prop_assume!(expected.is_some(), "two attempts start at one moment");
        prop_assert_eq!(expected, Some(latencies(&options.run())));
    }
}

fn latencies(run: &Run) -> Vec<Duration> {
    run.records().iter().map(|record| record.took).collect()
}

/// Returns the latencies of a run with random routes, without cancellations, ties and slow periods.
/// `None` if attempts of two requests start at one moment: their order is not promised.
fn model(options: &Options) -> Option<Vec<Duration>> {
    let simulation = options.simulation();
    let mut arrivals = stream(options.seed, Purpose::Arrivals);
    let mut free = vec![Moment::ZERO; options.servers];
    let mut now = Moment::ZERO;
    let mut arrived = Vec::new();
    for _ in 0..REQUESTS {
        now = simulation.arrival(now, -above_zero(&mut arrivals).ln());
        arrived.push(now);
    }
    // The starts of attempts: of one request, the first attempt comes before the second one.
    let mut starts: BinaryHeap<_> = (0..REQUESTS)
        .map(|it| Reverse((arrived[it], 0, it)))
        .collect();
    let mut done = vec![Moment::NEVER; REQUESTS];
    let mut choices: Vec<_> = (0..REQUESTS as u64)
        .map(|number| stream(options.seed, Purpose::Choices(number)))
        .collect();
    let mut used = vec![None; REQUESTS];
    while let Some(Reverse((at, index, request))) = starts.pop() {
        if done[request] <= at {
            continue;
        }
        let next = starts.peek();
        if next.is_some_and(|Reverse((next, _, other))| *next == at && *other != request) {
            return None;
        }
        let servers = options.servers;
        let server = match used[request] {
            Some(first) if servers > 1 => {
                let drawn = choices[request].usize(..servers - 1);
                drawn + usize::from(drawn >= first)
            }
            _ => choices[request].usize(..servers),
        };
        used[request] = Some(server);
        let mut own = stream(options.seed, Purpose::Request(request as u64));
        let _client = own.usize(..options.clients);
        let of_request = simulation.shared_slowness(&mut own);
        let mut own = stream(options.seed, Purpose::Job(request as u64, index));
        let of_attempt = simulation.service.is_slow(&mut own);
        let is_slow = of_request.unwrap_or(of_attempt);
        let work = simulation.service.draw(&mut own, is_slow).as_secs_f64();
        let ends = free[server].max(at) + seconds(work * simulation.slowness(server));
        free[server] = ends;
        done[request] = ends.min(done[request]);
        let hedge = options.client.delay.filter(|_| index == 0);
        starts.extend(hedge.map(|delay| Reverse((at + delay * MS / 10, 1, request))));
    }
    let took = done
        .iter()
        .zip(&arrived)
        .map(|(done, arrived)| done.since(*arrived));
    Some(took.skip(options.warm_up).collect())
}
