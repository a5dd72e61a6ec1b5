//! A gateway: a hyper server that hedges each request over two upstream servers. It connects to
//! them by Happy Eyeballs. One upstream request in 20 is slow; hardly any request of the gateway is.
//!
//! `cargo run --example gateway`

mod gateway;
mod upstream;

use std::{process::ExitCode, sync::Arc, time::Instant};

use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use race::observe::Counters;
use testkit::output::{complain, print};

const REQUESTS: usize = 200;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("gateway: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Error> {
    let upstreams = [
        upstream::start("one", 5).await?,
        upstream::start("two", 15).await?,
    ];
    let counters = Arc::new(Counters::new());
    let address = gateway::start(upstreams, counters.clone()).await?;

    let connector = race_connect::tokio::Connector::default();
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
    let mut times = Vec::new();
    for number in 0..REQUESTS {
        let began = Instant::now();
        let answer = client
            .get(format!("http://{address}/{number}").parse()?)
            .await?;
        let body = answer.into_body().collect().await?.to_bytes();
        if !body.ends_with(format!("/{number}").as_bytes()) {
            return Err(format!("request {number} was answered with {body:?}").into());
        }
        times.push(began.elapsed());
    }
    times.sort();
    let [median, slow] = [times[REQUESTS / 2], times[REQUESTS * 98 / 100]];
    print(&format!(
        "median {median:.1?}, 98 % within {slow:.1?}\n{}\n",
        counters.counts()
    ))?;
    Ok(())
}
