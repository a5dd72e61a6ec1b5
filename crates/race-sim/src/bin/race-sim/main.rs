//! Compares ways to hedge requests, by simulation: `race-sim --help`.

mod client;
mod parse;
mod service;

use std::{fs, io, path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use race_sim::{Losers, Report, Service, Simulation, chart};

use client::Client;

const CLIENTS: &str = "\
Each CLIENT is a policy, at a route:

  never@random             one attempt
  after:10ms@two           a second attempt after 10 ms
  extra:5@two              a second attempt after a learnt delay, for 5 % extra load
  percentile:99:1@two      the same for the shortest p99, for 1 % extra load
  tied@two                 two attempts at once, of which a server that begins one cancels the other

The routes are `random`, `two` (the better of two random servers by the attempts that the client
has in flight there), and `reported` (the same by the attempts of all clients).

SERVICE is `constant:1ms`, `exponential:1ms`, `lognormal:1ms:500us` (mean and standard deviation) or
`pareto:1ms:1.5` (mean and exponent).";

/// With fewer requests a chart shows nothing.
const LEAST_DRAWN: usize = 1_000;

/// Compares ways to hedge requests, by simulation.
#[derive(Parser, Debug)]
#[command(version, after_help = CLIENTS)]
struct Options {
    /// The clients to compare
    #[arg(
        value_name = "CLIENT",
        default_values = ["never@random", "never@two", "extra:5@random", "extra:5@two"]
    )]
    clients_to_compare: Vec<Client>,
    /// How long a server works on an attempt
    #[arg(long, default_value = "exponential:1ms", value_parser = service::parse)]
    service: Service,
    /// The share of slow attempts and how many times as long they take, such as 0.02x15
    #[arg(long, default_value = "0.02x15", value_parser = parse::slow)]
    slow: (f64, f64),
    /// How far slowness belongs to the request: 0 to 1
    #[arg(long, default_value_t = 0.0, value_parser = parse::share)]
    correlation: f64,
    /// The number of servers
    #[arg(long, default_value_t = 16, value_parser = parse::count)]
    servers: usize,
    /// Servers that are slow, and how many times as long they take, such as 2x6
    #[arg(long, value_parser = parse::slow_servers)]
    slow_servers: Option<(usize, f64)>,
    /// Slow periods of each server: the mean pause, the mean length, and the factor, such as
    /// 10s:1s:5
    #[arg(long, value_parser = parse::periods)]
    slow_periods: Option<(Duration, Duration, f64)>,
    /// The share of the servers' capacity that one attempt for each request takes
    #[arg(long, default_value_t = 0.8, value_parser = parse::positive)]
    load: f64,
    /// Let attempts that lost run to their end
    #[arg(long)]
    run_on: bool,
    /// How long a cancellation takes to arrive
    #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
    message_delay: Duration,
    /// The number of clients, each with a policy and counts of its own
    #[arg(long, default_value_t = 1, value_parser = parse::count)]
    clients: usize,
    /// The number of requests of each run; the first tenth is left out of the figures
    #[arg(long, default_value_t = 100_000, value_parser = parse::count)]
    requests: usize,
    /// The number of runs, each with a seed of its own
    #[arg(long, default_value_t = 9, value_parser = parse::count)]
    seeds: usize,
    /// Draw the tails to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("race-sim: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<()> {
    check(options)?;
    let simulation = simulation(options);
    println!("{}", Report::HEAD);
    let mut reports = Vec::new();
    for client in &options.clients_to_compare {
        let report = client.run(&simulation);
        println!("{report}");
        reports.push(report);
    }
    let Some(file) = &options.svg else {
        return Ok(());
    };
    let title = format!("{} servers, load {}", options.servers, options.load);
    let written = fs::write(file, chart(&title, &reports));
    written.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
}

/// Checks what no option shows alone.
fn check(options: &Options) -> io::Result<()> {
    let problem = match options.slow_servers {
        Some((slow, _)) if slow > options.servers => format!(
            "--slow-servers has {slow} servers, and --servers only {}",
            options.servers
        ),
        _ if options.svg.is_some() && options.requests < LEAST_DRAWN => format!(
            "--requests is {}: a chart needs at least {LEAST_DRAWN}",
            options.requests
        ),
        _ => return Ok(()),
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

fn simulation(options: &Options) -> Simulation {
    let (share, factor) = options.slow;
    let losers = match options.run_on {
        true => Losers::RunOn,
        false => Losers::Cancelled,
    };
    let mut simulation = Simulation::new(options.service.clone().slow(share, factor))
        .servers(options.servers)
        .load(options.load)
        .correlation(options.correlation)
        .losers(losers)
        .message_delay(options.message_delay)
        .clients(options.clients)
        .requests(options.requests, options.requests / 10)
        .seeds(options.seeds);
    if let Some((count, factor)) = options.slow_servers {
        simulation = simulation.slow_servers(count, factor);
    }
    if let Some((pause, length, factor)) = options.slow_periods {
        simulation = simulation.slow_periods(pause, length, factor);
    }
    simulation
}
