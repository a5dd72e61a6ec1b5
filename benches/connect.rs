//! The time to connect to a host whose addresses drop, lose or refuse connections, in network
//! namespaces: `cargo bench --bench connect`. It fails if `race-connect` takes longer than the
//! connector of `hyper_util`. Needs Linux with Debian's packages `iproute2` and `nftables`.

#[path = "../crates/race-connect/tests/namespaces/namespace.rs"]
mod namespace;

use std::{
    env,
    net::TcpListener,
    process::ExitCode,
    time::{Duration, Instant},
};

use hyper_util::client::legacy::connect::HttpConnector;
use namespace::{HOST, HOST_WITH_TWO_V6, Hosts, SECOND_V6, V4, V6, is_possible, this_program};
use tokio::time::timeout;
use tower::ServiceExt as _;

/// The argument of a run in a namespace, before the indices of the row and the contender.
const INSIDE: &str = "--inside";

/// Attempts longer than this are abandoned.
const LONGEST: Duration = Duration::from_secs(3);

const ROUNDS: usize = 5;

/// How much longer `race-connect` may take: the system repeats a lost packet after 1.00 to 1.03 s.
const TOLERANCE: Duration = Duration::from_millis(40);

struct Row {
    name: &'static str,
    host: &'static str,
    /// Commands of the namespace.
    network: &'static str,
    /// The addresses that accept connections. If there are none, the time to the error is measured.
    listening: &'static [&'static str],
}

const ROWS: [Row; 7] = [
    row("both families work", HOST, "", &[V6, V4]),
    row("IPv6 refuses", HOST, "", &[V4]),
    row("IPv6 is dropped", HOST, "drop v6", &[V6, V4]),
    row(
        "the first packet to IPv6 is lost",
        HOST,
        "lose v6",
        &[V6, V4],
    ),
    row("the same, IPv4 refuses", HOST, "lose v6", &[V6]),
    row(
        "IPv4 and the first of two IPv6 are dropped",
        HOST_WITH_TWO_V6,
        "drop v6; drop v4",
        &[V6, SECOND_V6, V4],
    ),
    row("both refuse: the time to the error", HOST, "", &[]),
];

const fn row(
    name: &'static str,
    host: &'static str,
    network: &'static str,
    listening: &'static [&'static str],
) -> Row {
    Row {
        name,
        host,
        network,
        listening,
    }
}

const CONTENDERS: [&str; 3] = ["race-connect", "hyper_util", "TcpStream::connect"];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let [INSIDE, row, contender] = arguments[..] {
        inside(&ROWS[index(row)], index(contender));
        return ExitCode::SUCCESS;
    }
    // `cargo bench` passes this flag; `cargo test` only checks that the program starts.
    if !arguments.contains(&"--bench") {
        println!("run it with: cargo bench --bench connect");
        return ExitCode::SUCCESS;
    }
    let hosts = Hosts::write("connect");
    if let Err(failed) = is_possible(&hosts) {
        eprintln!("connect: no network namespace can be made here: {failed:?}");
        return ExitCode::FAILURE;
    }
    match print(&hosts) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn index(argument: &str) -> usize {
    argument
        .parse()
        .expect("the index of a row or of a contender")
}

/// Prints the medians. Returns whether `race-connect` is as fast as it should be.
fn print(hosts: &Hosts) -> bool {
    let [ours, peer, other] = CONTENDERS;
    println!("{:<44}{ours:>14}{peer:>14}{other:>20}", "ms");
    let mut is_fast = true;
    for (number, row) in ROWS.iter().enumerate() {
        let [ours, peer, other] = [0, 1, 2].map(|contender| measure(hosts, number, contender));
        let cell = |time: Duration| match time < LONGEST {
            true => format!("{:.1}", time.as_secs_f64() * 1_000.0),
            false => format!("> {}", LONGEST.as_millis()),
        };
        let verdict = match ours <= peer + TOLERANCE {
            true => "",
            false => " SLOWER",
        };
        is_fast &= verdict.is_empty();
        let (name, ours, peer, other) = (row.name, cell(ours), cell(peer), cell(other));
        println!("{name:<44}{ours:>14}{peer:>14}{other:>20}{verdict}");
    }
    is_fast
}

/// Returns the median of the times that a contender takes, each time in a new namespace.
fn measure(hosts: &Hosts, row: usize, contender: usize) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let arguments = [INSIDE, &row.to_string(), &contender.to_string()];
            let ended = this_program(hosts, ROWS[row].network, &arguments).output();
            let printed = ended.expect("a namespace").stdout;
            let micros = String::from_utf8_lossy(&printed).trim().parse();
            Duration::from_micros(micros.expect("it prints microseconds"))
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

/// Prints how many microseconds a contender takes.
fn inside(row: &Row, contender: usize) {
    let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
    let mut listeners: Vec<TcpListener> = Vec::new();
    for ip in row.listening {
        let port = listeners.first().map_or(Ok(0), port).expect("it is bound");
        listeners.push(TcpListener::bind((*ip, port)).expect("an address of this namespace"));
    }
    let port = listeners.first().map_or(Ok(9), port).expect("it is bound");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let begun = Instant::now();
    let connecting = connect(contender, row.host, port);
    // `Err` if it takes too long.
    let connected = runtime.block_on(async { timeout(LONGEST, connecting).await });
    let time = begun.elapsed();
    assert!(
        connected.is_err() || connected == Ok(!row.listening.is_empty()),
        "{} in the row {}: connected: {connected:?}",
        CONTENDERS[contender],
        row.name
    );
    println!("{}", time.as_micros());
    // Lookups that run on in a thread are not awaited.
    runtime.shutdown_background();
}

/// Returns whether a contender connects.
async fn connect(contender: usize, host: &str, port: u16) -> bool {
    match contender {
        0 => race_connect::tokio::connect(host, port).await.is_ok(),
        1 => {
            let uri = format!("http://{host}:{port}/").parse().expect("a URI");
            HttpConnector::new().oneshot(uri).await.is_ok()
        }
        _ => tokio::net::TcpStream::connect((host, port)).await.is_ok(),
    }
}
