//! So many requests of one kind, and what became of them as a line of the table.

use std::{io, time::Duration};

use race::{RaceError, Won, tokio::Race};
use testkit::output::print;
use tokio::time::{Instant, timeout};

use crate::{
    client::Client,
    server::{Counts, Day, Server},
};

/// How many requests, not counting those that hedge, are under way at once.
pub(crate) const CLIENTS: usize = 32;

/// For a request, after which something must be wrong.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) const HEAD: &str = "                 p50        p99      p99.9  extra load  cancelled\n";

pub(crate) struct Load {
    pub(crate) requests: usize,
    pub(crate) seed: u64,
    pub(crate) day: Day,
}

impl Load {
    /// Starts a server, asks it in this way, and prints the line.
    pub(crate) async fn run(
        &self,
        name: &str,
        ask: impl AsyncFn(&Client) -> Result<Won<usize, ()>, RaceError<usize, io::Error>>,
    ) -> io::Result<()> {
        let server = Server::start(self.day, self.seed).await?;
        let client = Client::new(server.address);
        let mut latencies = Vec::with_capacity(self.requests);
        {
            // All at once, but for the bound: a race is also a way to go through many with a few.
            let requests = (0..self.requests).map(|_| measure(&client, &ask));
            let mut race = Race::of(Duration::ZERO, requests).max_in_flight(CLIENTS);
            while let Some((_, latency)) = race.next().await {
                latencies.push(latency?);
            }
        }
        drop(client);
        latencies.sort_unstable();
        self.show(name, &latencies, server.stop().await?)
    }

    fn show(&self, name: &str, latencies: &[Duration], counts: Counts) -> io::Result<()> {
        let [p50, p99, p999] = [500, 990, 999].map(|per_mille| {
            // The nearest rank: so many in a thousand took no longer.
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
    client: &Client,
    ask: impl AsyncFn(&Client) -> Result<Won<usize, ()>, RaceError<usize, io::Error>>,
) -> io::Result<Duration> {
    let began = Instant::now();
    match timeout(PATIENCE, ask(client)).await? {
        Ok(_) => Ok(began.elapsed()),
        Err(error) => Err(io::Error::other(error)),
    }
}
