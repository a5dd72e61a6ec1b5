use std::{
    any::Any,
    cell::{Cell, RefCell},
    fmt,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use fastrand::Rng;
use race_core::test::{VirtualClock, VirtualTimer};

use crate::{
    engine::{Job, Tied, World},
    random::{Purpose, seed, stream},
};

/// What a client knows before its first request.
pub struct Setup {
    world: Rc<World>,
    client: usize,
}

/// A request that has arrived at a client. Clones are the same request.
#[derive(Clone)]
pub struct Request {
    world: Rc<World>,
    state: Rc<State>,
}

struct State {
    number: u64,
    client: usize,
    /// Whether all its attempts are slow, or none. `None` if each is by its own chance.
    is_slow: Option<bool>,
    /// How many attempts were sent.
    sent: Cell<u32>,
    tied: Tied,
    choices: RefCell<Rng>,
}

/// The reply to an attempt. Dropping it abandons the attempt.
#[must_use = "futures do nothing unless polled"]
pub struct Reply {
    world: Rc<World>,
    job: Rc<Job>,
    is_answered: bool,
}

impl Setup {
    pub(crate) fn new(world: &Rc<World>, client: usize) -> Self {
        let world = world.clone();
        Self { world, client }
    }

    /// Returns the number of the client, counted from 0.
    #[must_use]
    pub fn client(&self) -> usize {
        self.client
    }

    /// Returns the number of servers.
    #[must_use]
    pub fn servers(&self) -> usize {
        self.world.simulation().servers
    }

    /// Returns the clock of this run.
    #[must_use]
    pub fn clock(&self) -> &VirtualClock {
        self.world.clock()
    }

    /// Returns a seed for the policy of this client.
    #[must_use]
    pub fn seed(&self) -> u64 {
        seed(self.world.seed(), Purpose::Client(self.client))
    }
}

impl Request {
    pub(crate) fn new(world: Rc<World>, number: u64) -> Self {
        let simulation = world.simulation();
        let mut own = stream(world.seed(), Purpose::Request(number));
        let state = State {
            number,
            client: own.usize(..simulation.clients),
            is_slow: simulation.shared_slowness(&mut own),
            sent: Cell::new(0),
            tied: Tied::default(),
            choices: RefCell::new(stream(world.seed(), Purpose::Choices(number))),
        };
        let state = Rc::new(state);
        Self { world, state }
    }

    /// Returns the number of the client it belongs to.
    #[must_use]
    pub fn client(&self) -> usize {
        self.state.client
    }

    /// Returns the number of servers.
    #[must_use]
    pub fn servers(&self) -> usize {
        self.world.simulation().servers
    }

    /// Returns the clock of this run.
    #[must_use]
    pub fn clock(&self) -> &VirtualClock {
        self.world.clock()
    }

    /// Returns a timer for a race.
    #[must_use]
    pub fn timer(&self) -> VirtualTimer {
        self.clock().timer()
    }

    /// Returns a random number below `end`, which must not be zero. Every policy gets the same
    /// numbers for the same request.
    #[must_use]
    pub fn random(&self, end: usize) -> usize {
        self.state.choices.borrow_mut().usize(..end)
    }

    /// Sends an attempt to a server, counted from 0. It waits there for its turn.
    ///
    /// # Panics
    ///
    /// Panics if there is no such server.
    pub fn send(&self, server: usize) -> Reply {
        self.submit(server, None)
    }

    /// Like [`send`](Self::send), tied to the other attempts that are sent in this way: when a
    /// server begins one, it tells the servers of the others, which remove theirs unless they have
    /// begun (Dean and Barroso, *The Tail at Scale*, CACM 56(2), 2013). An attempt that is sent to
    /// an idle server begins at once. The reply of an attempt that was removed never comes.
    ///
    /// # Panics
    ///
    /// Panics if there is no such server.
    pub fn send_tied(&self, server: usize) -> Reply {
        self.submit(server, Some(self.state.tied.clone()))
    }

    fn submit(&self, server: usize, tied: Option<Tied>) -> Reply {
        let servers = self.servers();
        assert!(
            server < servers,
            "there is no server {server}, only 0 to {}",
            servers - 1
        );
        let (world, state) = (self.world.clone(), &self.state);
        let simulation = world.simulation();
        let index = state.sent.replace(state.sent.get() + 1);
        let mut own = stream(world.seed(), Purpose::Job(state.number, index));
        let by_chance = simulation.service.is_slow(&mut own);
        let is_slow = state.is_slow.unwrap_or(by_chance);
        let work = simulation.service.draw(&mut own, is_slow);
        let job = Job::new(state.number, server, work, tied);
        world.submit(job.clone());
        Reply {
            world,
            job,
            is_answered: false,
        }
    }

    /// Asks a server how many attempts run or wait there. The answer takes
    /// [`message_delay`](crate::Simulation::message_delay), and is as old as that.
    ///
    /// # Panics
    ///
    /// Panics if there is no such server.
    pub async fn probe(&self, server: usize) -> usize {
        let in_flight = self.in_flight(server);
        self.clock()
            .sleep(self.world.simulation().message_delay)
            .await;
        in_flight
    }

    /// Returns how many attempts run or wait at a server now, as a client with perfect knowledge
    /// sees it.
    ///
    /// # Panics
    ///
    /// Panics if there is no such server.
    #[must_use]
    pub fn in_flight(&self, server: usize) -> usize {
        self.world.in_flight(server)
    }

    pub(crate) fn finish(&self) {
        self.world.finish(self.state.number);
    }
}

impl Reply {
    /// Keeps a value until the attempt is over: answered or, with
    /// [`Losers::Cancelled`](crate::Losers::Cancelled), dropped; with
    /// [`Losers::RunOn`](crate::Losers::RunOn) a dropped attempt is over when the server has ended
    /// it. If it is over already, the value is dropped now.
    pub fn holding(self, value: impl Any) -> Self {
        self.job.hold(Box::new(value));
        self
    }
}

impl Future for Reply {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let polled = self.job.poll(cx);
        self.is_answered = polled.is_ready();
        polled
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.is_answered {
            self.world.abandon(&self.job);
        }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("number", &self.state.number)
            .field("sent", &self.state.sent.get())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("server", &self.job.server)
            .field("stage", &self.job.stage())
            .finish_non_exhaustive()
    }
}
