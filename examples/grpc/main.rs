//! A gRPC client made with tonic, whose calls are hedged over two replicas. It sends the servers
//! the time that is left, so that they stop when it no longer waits. `client.rs` is the code to
//! copy.
//!
//! `cargo run --example grpc`

mod client;
mod messages;
mod server;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use futures::{SinkExt as _, StreamExt as _, channel::mpsc};
use race_tower::HedgeCounters;
use testkit::output::{complain, print};

use crate::{
    client::Client,
    messages::{Item, Price},
    server::Replica,
};

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("grpc: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Error> {
    let (slow, fast) = (Duration::from_secs(3), Duration::from_millis(5));
    print("call                          answer of   after, ms   attempts   time left\n")?;

    let mut calls = Calls::start([("one", slow, true), ("two", fast, true)]).await?;
    let hedged = calls.price("the first replica is slow").await?;
    check(hedged.from == "two", "the hedge wins")?;
    check(calls.attempts() == 2, "there are two attempts")?;

    let mut calls = Calls::start([("one", fast, false), ("two", fast, true)]).await?;
    let failed_over = calls.price("the first one restarts").await?;
    check(failed_over.from == "two", "another replica answers")?;
    check(calls.attempts() == 2, "there are two attempts")?;

    let mut calls = Calls::start([("one", fast, true), ("two", fast, true)]).await?;
    calls.stream("a stream in both directions").await?;
    check(calls.attempts() == 1, "an open stream is not hedged")
}

/// A client of two replicas, and what it counts.
struct Calls {
    client: Client,
    counters: HedgeCounters,
}

impl Calls {
    async fn start(replicas: [(&'static str, Duration, bool); 2]) -> Result<Self, Error> {
        let mut addresses = Vec::new();
        for (name, takes, is_available) in replicas {
            let replica = Replica {
                name,
                takes,
                is_available,
            };
            addresses.push(replica.start().await?);
        }
        let counters = HedgeCounters::new("shop.Prices");
        let client = Client::new(addresses, counters.clone())?;
        Ok(Self { client, counters })
    }

    fn attempts(&self) -> u64 {
        self.counters.counts().counts.attempts
    }

    async fn price(&mut self, call: &str) -> Result<Price, Error> {
        let began = Instant::now();
        let price = self.client.price("tea").await?;
        check(price.cents == 300, "the request arrives whole")?;
        self.report(call, &price, began)?;
        Ok(price)
    }

    /// Sends an item when the price of the one before has come, later than the delay.
    async fn stream(&mut self, call: &str) -> Result<(), Error> {
        let began = Instant::now();
        let (mut items, received) = mpsc::channel(1);
        let mut prices = self.client.prices(received).await?;
        let mut last = Price::default();
        for name in ["tea", "milk", "sugar"] {
            let name = name.to_owned();
            let cents = name.len() as u64 * 100;
            items.send(Item { name }).await?;
            last = prices.next().await.ok_or("the stream has ended")??;
            check(last.cents == cents, "each item has its price")?;
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
        drop(items);
        check(
            prices.next().await.is_none(),
            "the stream ends with the items",
        )?;
        self.report(call, &last, began)
    }

    fn report(&self, call: &str, price: &Price, began: Instant) -> Result<(), Error> {
        let (from, timeout) = (&price.from, &price.timeout);
        let (took, attempts) = (began.elapsed().as_millis(), self.attempts());
        print(&format!(
            "{call:<29} {from:<10} {took:>10} {attempts:>10}   {timeout:>9}\n"
        ))?;
        Ok(())
    }
}

fn check(holds: bool, what: &str) -> Result<(), Error> {
    match holds {
        true => Ok(()),
        false => Err(format!("it does not hold that {what}").into()),
    }
}
