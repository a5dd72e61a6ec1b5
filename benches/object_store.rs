//! Reads from a server on loopback whose `GET`s are slow sometimes, without hedging and with it:
//! `cargo bench --bench object_store`. It fails if a figure is out of its bounds.

#[path = "../examples/object_store/load.rs"]
mod load;
#[path = "../examples/object_store/server.rs"]
mod server;
#[path = "../examples/object_store/transport.rs"]
mod transport;

use std::{env, process::ExitCode, sync::Arc, time::Duration};

use object_store::{ObjectStore, http::HttpBuilder};
use race_object_store::{
    AdaptiveDelays,
    race_core::{Adaptive, Budget},
    tokio::HedgedStore,
};

use crate::{load::read_many, server::Server, transport::Hyper};

/// The reads of a row.
const READS: usize = 20_000;
/// The reads of a row in which all are slow.
const SLOW_READS: usize = 5_000;
const SLOWER: Duration = Duration::from_millis(200);

/// The extra load that is allowed, in percent.
const PERCENT: u16 = 5;
/// What a budget saves in quiet times, in attempts; that of an `Adaptive` saves as many.
const SAVINGS: u16 = 100;

/// The p99 without hedging is at least this many times that with hedging.
const GAIN: f64 = 3.0;

#[tokio::main]
async fn main() -> ExitCode {
    // `cargo bench` passes this flag; `cargo test` only checks that the program starts.
    if !env::args().any(|arg| arg == "--bench") {
        println!("run it with: cargo bench --bench object_store");
        return ExitCode::SUCCESS;
    }
    let missed = run().await.expect("the server is in this process");
    match missed {
        0 => ExitCode::SUCCESS,
        missed => {
            eprintln!("{missed} figures are out of their bounds");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<usize, Box<dyn std::error::Error>> {
    let server = Server::start().await?;
    let plain: Arc<dyn ObjectStore> = Arc::new(
        HttpBuilder::new()
            .with_url(server.url())
            .with_http_connector(Hyper)
            .build()?,
    );
    let budget = Arc::new(Budget::percent(PERCENT).savings(SAVINGS));
    let fixed = HedgedStore::new(plain.clone(), Duration::from_millis(50)).budget(budget);
    let fixed: Arc<dyn ObjectStore> = Arc::new(fixed);
    let delays = AdaptiveDelays::new(|_| Adaptive::extra_load(PERCENT.into()));
    let learnt: Arc<dyn ObjectStore> = Arc::new(HedgedStore::new(plain.clone(), delays));

    let mut missed = 0;
    println!("{READS} reads a row; 3 % of the GETs take 200 ms to 1 s longer");
    println!(
        "{:<22} {:>9} {:>9} {:>7} {:>9}",
        "", "p50 ms", "p99 ms", "GETs", "extra %"
    );
    let unhedged = row("not hedged", &server, &plain, READS).await?;
    for (name, store) in [("after 50 ms, budget", &fixed), ("learnt delay", &learnt)] {
        let hedged = row(name, &server, store, READS).await?;
        missed += usize::from(unhedged.p99 < GAIN * hedged.p99);
        missed += usize::from(hedged.extra > f64::from(PERCENT));
        println!("{:<22} {:>18.1} times lower", "", unhedged.p99 / hedged.p99);
    }

    server.delay_all(SLOWER);
    println!("\n{SLOW_READS} reads a row; every GET takes 200 ms longer");
    row("not hedged", &server, &plain, SLOW_READS).await?;
    for (name, store) in [("after 50 ms, budget", &fixed), ("learnt delay", &learnt)] {
        let slow = row(name, &server, store, SLOW_READS).await?;
        let saved = 100.0 * f64::from(SAVINGS) / SLOW_READS as f64;
        missed += usize::from(slow.extra > f64::from(PERCENT) + saved);
    }
    Ok(missed)
}

struct Row {
    p99: f64,
    /// GETs beyond one a read, in percent.
    extra: f64,
}

async fn row(
    name: &str,
    server: &Server,
    store: &Arc<dyn ObjectStore>,
    reads: usize,
) -> object_store::Result<Row> {
    let before = server.gets();
    let mut took = read_many(store.clone(), reads).await?;
    let gets = server.gets() - before;
    let (p50, p99) = (took.percentile(50.0), took.percentile(99.0));
    let extra = 100.0 * (gets as f64 / reads as f64 - 1.0);
    println!("{name:<22} {p50:>9.1} {p99:>9.1} {gets:>7} {extra:>9.2}");
    Ok(Row { p99, extra })
}
