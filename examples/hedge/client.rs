//! A client that hedges its requests to several replicas.

use std::{
    cell::{Cell, RefCell},
    io,
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use race::{Adaptive, Budget, RaceError, RaceOptions, Timer, Won, core::Race};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const OPTIONS: RaceOptions = RaceOptions::new()
    .attempt_timeout(Duration::from_secs(5))
    .deadline(Duration::from_secs(10));

/// The result of a request.
pub(crate) type Answer = Result<Won<usize, ()>, RaceError<usize, io::Error>>;

/// Sends each request to a replica and hedges it with the next one. The first replica rotates.
pub(crate) struct Client<T> {
    timer: T,
    replicas: Vec<Replica>,
    requests: Cell<usize>,
    /// Limits the hedges after a fixed delay.
    budget: Budget,
    /// The learnt delay, which has a budget of its own.
    adaptive: Arc<Adaptive>,
}

impl<T: Timer + Clone + Unpin> Client<T> {
    pub(crate) fn new(
        timer: T,
        replicas: impl IntoIterator<Item = SocketAddr>,
        budget: Budget,
        adaptive: Arc<Adaptive>,
    ) -> Self {
        Self {
            timer,
            replicas: replicas.into_iter().map(Replica::new).collect(),
            requests: Cell::new(0),
            budget,
            adaptive,
        }
    }

    /// Does not hedge.
    pub(crate) async fn send_once(&self) -> Answer {
        let race = Race::at(self.timer.clone()).of(Duration::MAX, self.attempts(1));
        race.options(&OPTIONS).first_ok().await
    }

    /// Hedges after `delay`.
    pub(crate) async fn send_hedged(&self, delay: Duration) -> Answer {
        let race = Race::at(self.timer.clone()).of(delay, self.attempts(2));
        race.options(&OPTIONS).first_ok().await
    }

    /// Hedges after `delay`, within the budget.
    pub(crate) async fn send_within_budget(&self, delay: Duration) -> Answer {
        let race = Race::at(self.timer.clone()).of(delay, self.attempts(2));
        race.options(&OPTIONS).budget(&self.budget).first_ok().await
    }

    /// Hedges after the learnt delay, within its budget.
    pub(crate) async fn send_adaptive(&self) -> Answer {
        let race = Race::at(self.timer.clone()).of(&*self.adaptive, self.attempts(2));
        race.options(&OPTIONS).first_ok().await
    }

    /// The attempts of one request, on up to `count` replicas.
    fn attempts(&self, count: usize) -> impl Iterator<Item = impl Future<Output = io::Result<()>>> {
        let first = self.requests.get() % self.replicas.len();
        self.requests.set(self.requests.get() + 1);
        let (last, first) = self.replicas.split_at(first);
        first.iter().chain(last).take(count).map(Replica::ask)
    }
}

struct Replica {
    address: SocketAddr,
    /// Connections without a running request. A cancelled attempt closes its connection, which
    /// tells the server to stop.
    idle: RefCell<Vec<TcpStream>>,
}

impl Replica {
    fn new(address: SocketAddr) -> Self {
        let idle = RefCell::default();
        Self { address, idle }
    }

    /// Sends one byte and waits for the answer of one byte.
    async fn ask(&self) -> io::Result<()> {
        let idle = self.idle.borrow_mut().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => TcpStream::connect(self.address).await?,
        };
        connection.write_u8(b'?').await?;
        connection.read_u8().await?;
        self.idle.borrow_mut().push(connection);
        Ok(())
    }
}
