//! The load: many requests with one strategy, and one line of the table.

use std::{io, sync::Arc, time::Duration};

use race::{
    Adaptive, Budget,
    tokio::{Race, TokioTimer},
};
use testkit::output::print;
use tokio::time::Instant;

use crate::{
    client::{Answer, Client},
    server::{Counts, Day, Server},
};

/// The number of requests that run at once, not counting hedges.
pub(crate) const CLIENTS: usize = 32;

pub(crate) const REPLICAS: u64 = 3;

pub(crate) const HEAD: &str = "                 p50        p99      p99.9  extra load  cancelled\n";

pub(crate) struct Load {
    pub(crate) requests: usize,
    pub(crate) seed: u64,
    pub(crate) day: Day,
    /// The target of the budget in percent, and its reserve.
    pub(crate) budget: (u16, u16),
    pub(crate) adaptive: Arc<Adaptive>,
}

impl Load {
    /// Starts the replicas, sends the requests with `send`, and prints the line.
    pub(crate) async fn run(
        &self,
        name: &str,
        send: impl AsyncFn(&Client<TokioTimer>) -> Answer,
    ) -> io::Result<()> {
        let mut servers = Vec::new();
        for index in 0..REPLICAS {
            servers.push(Server::start(self.day, self.seed.wrapping_add(index)).await?);
        }
        let (percent, reserve) = self.budget;
        let client = Client::new(
            TokioTimer::new(),
            servers.iter().map(|server| server.address),
            Budget::percent(percent).reserve(reserve),
            Arc::clone(&self.adaptive),
        );
        let mut latencies = Vec::with_capacity(self.requests);
        {
            // A delay of zero and `max_in_flight`: a race as a bounded stream of all requests.
            let requests = (0..self.requests).map(|_| measure(&client, &send));
            let mut race = Race::of(Duration::ZERO, requests).max_in_flight(CLIENTS);
            while let Some((_, latency)) = race.next().await {
                latencies.push(latency?);
            }
        }
        drop(client);
        latencies.sort_unstable();
        let mut counts = Counts::default();
        for server in servers {
            counts += server.stop().await?;
        }
        self.show(name, &latencies, counts)
    }

    fn show(&self, name: &str, latencies: &[Duration], counts: Counts) -> io::Result<()> {
        let [p50, p99, p999] = [500, 990, 999].map(|per_mille| {
            // The nearest rank.
            let rank = (latencies.len() * per_mille).div_ceil(1_000);
            latencies[rank.max(1) - 1].as_secs_f64() * 1e3
        });
        let extra = counts.requests as f64 / self.requests as f64 * 100.0 - 100.0;
        let cancelled = counts.cancelled;
        print(&format!(
            "{name:<9} {p50:7.1} ms {p99:7.1} ms {p999:7.1} ms {extra:9.1} % {cancelled:10}\n"
        ))
    }
}

async fn measure(
    client: &Client<TokioTimer>,
    send: impl AsyncFn(&Client<TokioTimer>) -> Answer,
) -> io::Result<Duration> {
    let began = Instant::now();
    send(client).await.map_err(io::Error::other)?;
    Ok(began.elapsed())
}
