use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper_util::{client::legacy, rt::TokioExecutor};
use race::tokio::Race;
use race_connect::tokio::Connector;

use crate::Error;

const DELAY: Duration = Duration::from_millis(20);

/// How many requests are sent at once.
const AT_ONCE: usize = 3;

/// Sends each request to one of the servers, and hedges it at the other one.
pub(crate) struct Client {
    http: legacy::Client<Connector, Empty<Bytes>>,
    servers: [SocketAddr; 2],
}

impl Client {
    pub(crate) fn new(servers: [SocketAddr; 2]) -> Self {
        let http = legacy::Client::builder(TokioExecutor::new()).build(Connector::default());
        Self { http, servers }
    }

    /// Sends requests, and returns how long each took.
    pub(crate) async fn send_all(&self, requests: usize) -> Result<Vec<Duration>, Error> {
        let requests = stream::iter(0..requests).map(async |number| {
            let began = Instant::now();
            self.send(number).await?;
            Ok(began.elapsed())
        });
        requests.buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn send(&self, number: usize) -> Result<(), Error> {
        // When an attempt loses, its future is dropped, and with it the connection is closed.
        let attempt = async |index: usize| {
            let server = self.servers[(number + index) % 2];
            let uri = format!("http://{server}/{number}").parse()?;
            let answer = self.http.get(uri).await?;
            answer.into_body().collect().await?;
            Ok::<_, Error>(())
        };
        let race = Race::from_fn(DELAY, attempt).max_attempts(2);
        race.first_ok().await?;
        Ok(())
    }
}
