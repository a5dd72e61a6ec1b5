//! Reads objects from a server on loopback that is slow sometimes, as S3 is: without hedging,
//! hedged after a fixed delay within a budget, and hedged after a learnt delay. Then every read
//! becomes slower, and the budget of the learnt delay bounds the load.
//!
//! `cargo run --example object_store`

mod load;
mod server;
mod transport;

use std::{process::ExitCode, sync::Arc, time::Duration};

use object_store::{ObjectStore, http::HttpBuilder};
use race_object_store::{
    AdaptiveDelays,
    race_core::{Adaptive, Budget, observe::Counters},
    tokio::HedgedStore,
};
use testkit::output::{complain, print};

use crate::{load::read_many, server::Server, transport::Hyper};

const READS: usize = 2_000;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("object_store: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Error> {
    let server = Server::start().await?;
    let store = HttpBuilder::new()
        .with_url(server.url())
        .with_http_connector(Hyper)
        .build()?;
    let store: Arc<dyn ObjectStore> = Arc::new(store);

    let delay = Duration::from_millis(50);
    let budget = Arc::new(Budget::percent(5).reserve(10));
    let fixed = HedgedStore::new(store.clone(), delay).budget(budget);

    let ceiling = Duration::from_millis(500);
    let delays = AdaptiveDelays::new(|_| Adaptive::extra_load(5.0).ceiling(ceiling));
    let counters = Arc::new(Counters::new());
    let learnt = HedgedStore::new(store.clone(), delays)
        .deadline(Duration::from_secs(5))
        .observer(counters.clone());

    print(&format!(
        "{READS} reads each; 3 % take 200 ms to 1 s longer\n"
    ))?;
    read_and_print("not hedged", &server, store).await?;
    read_and_print("after 50 ms", &server, Arc::new(fixed)).await?;
    let learnt: Arc<dyn ObjectStore> = Arc::new(learnt);
    read_and_print("learnt delay", &server, learnt.clone()).await?;
    server.delay_all(Duration::from_millis(200));
    print("every read takes 200 ms longer\n")?;
    read_and_print("learnt delay", &server, learnt).await?;
    print(&format!("learnt delay: {}\n", counters.counts()))?;
    Ok(())
}

async fn read_and_print(
    name: &str,
    server: &Server,
    store: Arc<dyn ObjectStore>,
) -> Result<(), Error> {
    let before = server.gets();
    let mut took = read_many(store, READS).await?;
    let gets = server.gets() - before;
    let (p50, p99) = (took.percentile(50.0), took.percentile(99.0));
    print(&format!(
        "{name:<14} p50 {p50:>6.1} ms, p99 {p99:>6.1} ms; {gets} GETs\n"
    ))?;
    Ok(())
}
