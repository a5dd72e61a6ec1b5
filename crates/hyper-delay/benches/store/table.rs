//! The whole server compared with beanstalkd: a table of medians over several rounds.

use testkit::Start;
use tokio::runtime;

use crate::{
    Failure,
    beanstalkd::Beanstalkd,
    median::median,
    raw::Raw,
    round::{CROWD, Load, MANY, ONE, PAYLOAD, Pair, Round, THROUGH, round},
};

const ROUNDS: usize = 5;

/// The length of a raw write in bytes.
const RAW: usize = 300;

pub(crate) fn run() -> Result<(), Failure> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut raw = Raw::new(directory.path(), "raw", RAW)?;
    let server = Start::new(env!("CARGO_BIN_EXE_hyper-delay"), directory.path()).run();
    let peer = Beanstalkd::start()?;
    // One thread makes the whole load.
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut rounds = Vec::new();
    for number in 1..=ROUNDS {
        eprintln!("round {number} of {ROUNDS}");
        rounds.push(runtime.block_on(round(&mut raw, &server, peer.as_ref()))?);
    }
    println!("## The server and beanstalkd -f 0\n");
    if peer.is_none() {
        println!(
            "beanstalkd is not installed, so its column is empty: apt-get install beanstalkd\n"
        );
    }
    println!(
        "Medians of {ROUNDS} rounds with payloads of {PAYLOAD} bytes; the servers take turns in \
         each round. The disk alone: {:.0} writes of {RAW} bytes with fdatasync per second.\n",
        median_of(&rounds, |round| round.raw)
    );
    println!("| | hyper-delay | beanstalkd | ratio | target |");
    println!("| --- | --- | --- | --- | --- |");
    let shape = |load: Load| {
        let Load {
            connections,
            pipeline,
            ..
        } = load;
        let s = if connections == 1 { "" } else { "s" };
        format!("{connections} connection{s}, {pipeline} pending on each")
    };
    let rate = |name: &str, pick: fn(&Round) -> Pair, target: &str| {
        let ours = median_of(&rounds, |round| pick(round).ours);
        let peer = peer_median_of(&rounds, pick);
        let ratio = rounds.iter().filter_map(|round| {
            let Pair { ours, peer } = pick(round);
            peer.map(|peer| ours / peer)
        });
        let ratio = peer.map(|_| format!("{:.1}", median(ratio)));
        println!(
            "| {name} | **{ours:.0}** | {} | {} | {target} |",
            cell(peer, 0),
            ratio.unwrap_or_default()
        );
    };
    let many = format!("durable schedule acks/s, {}", shape(MANY));
    rate(&many, |round| round.many, "10 times");
    let crowd = format!("durable schedule acks/s, {}", shape(CROWD));
    rate(&crowd, |round| round.crowd, "10 times");
    let one = format!("durable schedule acks/s, {}", shape(ONE));
    rate(&one, |round| round.one, "10 times");
    let through = format!("schedule, deliver, ack; tasks/s, {}", shape(THROUGH));
    rate(&through, |round| round.through, "40,000");
    for (name, pick, target) in [
        (
            "processor time of the server per durable ack, pipelined, µs",
            (|round| round.cpu) as fn(&Round) -> Pair,
            "15",
        ),
        (
            "processor time of the load per durable ack, µs",
            |round| round.load,
            "about 2",
        ),
    ] {
        println!(
            "| {name} | **{:.1}** | {} | | {target} |",
            median_of(&rounds, |round| pick(round).ours),
            cell(peer_median_of(&rounds, pick), 1)
        );
    }
    println!(
        "| lateness at 1,000 due/s, p50, ms | **{:.2}** | whole seconds | | |",
        median_of(&rounds, |round| round.late.0)
    );
    println!(
        "| lateness at 1,000 due/s, p99, ms | **{:.2}** | whole seconds | | 2 |",
        median_of(&rounds, |round| round.late.1)
    );
    Ok(())
}

fn median_of(rounds: &[Round], pick: impl Fn(&Round) -> f64) -> f64 {
    median(rounds.iter().map(pick))
}

/// Returns the median of the peer's figures. `None` if a round has none.
fn peer_median_of(rounds: &[Round], pick: fn(&Round) -> Pair) -> Option<f64> {
    let figures: Option<Vec<f64>> = rounds.iter().map(|round| pick(round).peer).collect();
    figures.map(median)
}

/// Formats a cell of the table; empty without a figure.
fn cell(figure: Option<f64>, digits: usize) -> String {
    figure.map_or_else(String::new, |figure| format!("{figure:.digits$}"))
}
