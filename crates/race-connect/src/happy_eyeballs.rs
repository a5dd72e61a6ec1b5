use std::{
    future::poll_fn, io, mem, net::SocketAddr, pin::pin, sync::Arc, task::Poll, time::Duration,
};

use futures_core::Stream;
use race_core::{
    AttemptHandle, GrowingDelay, Moment, OnFailure, Race, RaceOptions, Timer, observe::Clock,
};

use crate::{
    Answer, Candidates, ConnectError, Connected, Destination, Family, FamilyMemory,
    attempts::Attempts,
    dials::{Dials, Shared},
    gap::Gap,
    lost::Lost,
    plan::{Discover as _, Plan},
    resolution::Resolution,
    v3::{Discovery, Lookup, Origin, Peer, Preferences},
};

/// The settings of Happy Eyeballs (RFC 8305).
///
/// | setting | default |
/// | --- | --- |
/// | [`attempt_delay`](Self::attempt_delay) | 250 ms |
/// | [`attempt_delay_factor`](Self::attempt_delay_factor) | 1: it does not grow |
/// | [`minimum_attempt_delay`](Self::minimum_attempt_delay) | 10 ms |
/// | [`resolution_delay`](Self::resolution_delay) | 50 ms |
/// | [`first_family_count`](Self::first_family_count) | 1 |
/// | [`prefer`](Self::prefer) | as the resolver sorted, or IPv6 |
/// | [`max_in_flight`](Self::max_in_flight), [`attempt_timeout`](Self::attempt_timeout), [`deadline`](Self::deadline) | none |
/// | [`memory`](Self::memory) | none |
#[derive(Clone, Debug)]
pub struct HappyEyeballs {
    attempt_delay: Duration,
    attempt_delay_factor: u32,
    minimum_attempt_delay: Duration,
    resolution_delay: Duration,
    first_family_count: usize,
    prefer: Option<Family>,
    max_in_flight: usize,
    attempt_timeout: Option<Duration>,
    deadline: Option<Duration>,
    memory: Option<Arc<FamilyMemory>>,
}

impl Default for HappyEyeballs {
    fn default() -> Self {
        Self::new()
    }
}

impl HappyEyeballs {
    /// The range of [`attempt_delay`](Self::attempt_delay) and of
    /// [`minimum_attempt_delay`](Self::minimum_attempt_delay): RFC 8305, section 8.
    pub const ATTEMPT_DELAYS: std::ops::RangeInclusive<Duration> =
        Duration::from_millis(10)..=Duration::from_secs(2);

    /// Creates the default settings, which are those of the RFC.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            attempt_delay: Duration::from_millis(250),
            attempt_delay_factor: 1,
            minimum_attempt_delay: Duration::from_millis(10),
            resolution_delay: Duration::from_millis(50),
            first_family_count: 1,
            prefer: None,
            max_in_flight: usize::MAX,
            attempt_timeout: None,
            deadline: None,
            memory: None,
        }
    }

    /// Sets the Connection Attempt Delay: the time between the starts of two attempts. After a
    /// failure, the next one starts as soon as
    /// [`minimum_attempt_delay`](Self::minimum_attempt_delay) allows. Default: 250 ms. Clamped to
    /// 10 ms to 2 s.
    #[must_use]
    pub fn attempt_delay(mut self, delay: Duration) -> Self {
        self.attempt_delay = clamped(delay);
        self
    }

    /// Multiplies the [`attempt_delay`](Self::attempt_delay) by this factor after each start by
    /// time, up to 2 s, so that a host with many addresses that do not answer gets fewer attempts
    /// at once. Default: 1; 0 means 1. Neither RFC 8305 nor the draft of its successor has such a
    /// growth.
    #[must_use]
    pub fn attempt_delay_factor(mut self, factor: u32) -> Self {
        self.attempt_delay_factor = factor.max(1);
        self
    }

    /// Sets the Minimum Connection Attempt Delay: the least time between the starts of two
    /// attempts, also after a failure. It takes precedence over a shorter
    /// [`attempt_delay`](Self::attempt_delay). Default: 10 ms. Clamped to 10 ms to 2 s; 0 does not
    /// switch it off, because RFC 8305 forbids less than 10 ms.
    ///
    /// Attempts to loopback addresses are exempt: they start at once after a failure.
    #[must_use]
    pub fn minimum_attempt_delay(mut self, delay: Duration) -> Self {
        self.minimum_attempt_delay = clamped(delay);
        self
    }

    /// Sets the Resolution Delay: how long to wait for the addresses of the preferred family when
    /// the others have arrived. Default: 50 ms.
    #[must_use]
    pub fn resolution_delay(mut self, delay: Duration) -> Self {
        self.resolution_delay = delay;
        self
    }

    /// Sets the First Address Family Count: how many addresses of the preferred family come before
    /// one of the other. Default: 1; 0 means 1.
    #[must_use]
    pub fn first_family_count(mut self, count: usize) -> Self {
        self.first_family_count = count;
        self
    }

    /// Sets the family that comes first. Default: that of the resolver's first address, if it gives
    /// both families in one answer, and IPv6 otherwise.
    #[must_use]
    pub fn prefer(mut self, family: Family) -> Self {
        self.prefer = Some(family);
        self
    }

    /// Limits how long each attempt may take. Default: none; the system has a limit, often 2
    /// minutes.
    #[must_use]
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = Some(timeout);
        self
    }

    /// Limits how many attempts run at once. Default: no limit; 0 means 1. A host with many
    /// addresses that do not answer otherwise has as many open sockets.
    #[must_use]
    pub fn max_in_flight(mut self, max: usize) -> Self {
        self.max_in_flight = max.max(1);
        self
    }

    /// Limits how long the resolution and all attempts together may take. Default: none.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Lets the family that connected while the other one gave no answer come first, whatever the
    /// resolver and [`prefer`](Self::prefer) say. Default: no memory.
    #[must_use]
    pub fn memory(mut self, memory: Arc<FamilyMemory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Races connections to the addresses that a resolver gives.
    ///
    /// `timer` is that of the runtime, such as `race_connect::tokio::TokioTimer`. `dial` makes an
    /// attempt of an address. The other attempts are dropped when the first one succeeds.
    ///
    /// A connection that must do more, such as a TLS handshake, reports its
    /// [progress](AttemptHandle::progress), which puts the next start off by the delay, or
    /// [holds](AttemptHandle::hold) the next start meanwhile. A handshake that never ends would
    /// hold it for ever: use [`attempt_timeout`](Self::attempt_timeout) with it.
    ///
    /// ```
    /// use futures::stream;
    /// use race_connect::{
    ///     Answer, Family, HappyEyeballs, refuse_self_connection, tokio::TokioTimer,
    /// };
    /// # async fn handshake(stream: tokio::net::TcpStream) -> std::io::Result<tokio::net::TcpStream> { Ok(stream) }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let address = listener.local_addr()?;
    /// // What a resolver says, as it arrives.
    /// let answers = stream::iter([
    ///     Answer::Addresses(vec![address]),
    ///     Answer::Ended(Family::V6),
    /// ]);
    /// let connected = HappyEyeballs::new()
    ///     .race(TokioTimer::new(), answers, |address, attempt| async move {
    ///         let stream = tokio::net::TcpStream::connect(address).await?;
    ///         refuse_self_connection(&stream)?;
    ///         attempt.progress();
    ///         handshake(stream).await
    ///     })
    ///     .await?;
    /// assert_eq!(connected.address, address);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops all attempts.
    pub async fn race<T, A, D, F, C>(
        &self,
        timer: T,
        answers: A,
        mut dial: D,
    ) -> Result<Connected<C>, ConnectError>
    where
        T: Timer + Clock + Clone + Unpin,
        A: Stream<Item = Answer> + Unpin,
        D: FnMut(SocketAddr, AttemptHandle) -> F,
        F: Future<Output = io::Result<C>>,
    {
        let plan = Resolution::new(answers, self.candidates(timer.now()));
        let to = |_: &_, address, attempt| (address, attempt);
        let dial = |(address, attempt)| dial(address, attempt);
        self.run(timer, plan, to, dial).await
    }

    /// Races connections to the endpoints of an origin, as Happy Eyeballs v3 does.
    ///
    /// `timer` is that of the runtime. `dial` makes an attempt of a [`Destination`]: a QUIC or a
    /// TCP connection, with TLS if the origin is secure. An attempt that has connected over TCP
    /// reports its [progress](Destination::progress) before it begins with TLS. The other attempts
    /// are dropped when the first one succeeds.
    ///
    /// An IPv6 address with a zone, as in `fe80::1%eth0`, is a name to the [`Lookup`].
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops all queries and attempts.
    pub async fn race_endpoints<T, L, D, F, C>(
        &self,
        timer: T,
        discovery: &Discovery<L>,
        origin: &Origin,
        mut dial: D,
    ) -> Result<Connected<C>, ConnectError>
    where
        T: Timer + Clock + Clone + Unpin,
        L: Lookup,
        D: FnMut(Destination) -> F,
        F: Future<Output = io::Result<C>>,
    {
        let connected = if origin.given().is_empty() {
            Err(ConnectError::empty_host())
        } else {
            let plan = discovery.plan(self, origin, timer.now());
            self.run_plan(timer, plan, &mut dial).await
        };
        connected.map_err(|error| error.of(origin))
    }

    /// Races connections to the candidates of a connector's plan.
    pub(crate) async fn run_plan<T, P, F, C>(
        &self,
        timer: T,
        plan: P,
        dial: impl FnMut(Destination) -> F,
    ) -> Result<Connected<C>, ConnectError>
    where
        T: Timer + Clock + Clone + Unpin,
        P: Plan,
        F: Future<Output = io::Result<C>>,
    {
        let to = |plan: &P, candidate, attempt| plan.destination(candidate, attempt);
        self.run(timer, plan, to, dial).await
    }

    /// `to` makes the argument of `dial`.
    async fn run<T, P, A, F, C>(
        &self,
        timer: T,
        plan: P,
        to: impl Fn(&P, P::Candidate, AttemptHandle) -> A,
        mut dial: impl FnMut(A) -> F,
    ) -> Result<Connected<C>, ConnectError>
    where
        T: Timer + Clock + Clone + Unpin,
        P: Plan,
        F: Future<Output = io::Result<C>>,
    {
        let began = timer.now();
        let plan = Shared::new(plan);
        let failed = Shared::new(Vec::new());
        let attempt = |candidate: P::Candidate, handle| {
            let peer = P::peer(&candidate);
            // The plan is not locked while code of the caller runs.
            let to = to(&plan.lock(), candidate, handle);
            let attempt = dial(to);
            let (plan, failed) = (plan.clone(), failed.clone());
            async move {
                let connected = attempt.await;
                plan.lock().attempts().finish(peer);
                connected.map_err(|error| {
                    let kind = error.kind();
                    failed.lock().push((peer, error));
                    kind
                })
            }
        };
        let gap = Gap::new(self.minimum_attempt_delay);
        let dials = Dials::new(plan.clone(), timer.clone(), gap, attempt);
        let race = Race::at(timer.clone())
            .from_source(self.delay(), dials)
            .options(&self.options());
        let ended = {
            let mut race = pin!(race.first_ok());
            poll_fn(|cx| {
                let refused = {
                    let mut plan = plan.lock();
                    plan.poll(timer.now(), cx);
                    plan.refused()
                };
                if let Some(refused) = refused {
                    return Poll::Ready(Err(Lost::Refused(refused)));
                }
                let polled = race.as_mut().poll(cx);
                plan.lock().attempts().note_progress(timer.now());
                polled.map_err(Lost::Race)
            })
            .await
        };
        let now = timer.now();
        let mut plan = plan.lock();
        let won = ended.map_err(|lost| {
            let failed = mem::take(&mut *failed.lock());
            lost.into_error(self.deadline, failed, &mut *plan)
        })?;
        plan.won(&won.arg, now);
        let peer = P::peer(&won.arg);
        self.remember(plan.attempts(), peer, P::family(&won.arg), now);
        Ok(Connected {
            connection: won.output,
            address: peer.address,
            transport: peer.transport,
            elapsed: now.since(began),
        })
    }

    fn delay(&self) -> GrowingDelay {
        GrowingDelay::new(self.attempt_delay)
            .factor(self.attempt_delay_factor)
            .cap(*Self::ATTEMPT_DELAYS.end())
    }

    fn options(&self) -> RaceOptions {
        let mut options = RaceOptions::new()
            .on_failure(OnFailure::Any)
            .max_in_flight(self.max_in_flight);
        options.attempt_timeout = self.attempt_timeout;
        options.deadline = self.deadline;
        options
    }

    fn remember(&self, attempts: &Attempts, winner: Peer, family: Family, now: Moment) {
        if let Some(memory) = &self.memory {
            if attempts.teach_family(winner, family) {
                memory.remember(family, now);
            }
        }
    }

    /// The order of addresses of a resolver.
    pub(crate) fn candidates(&self, now: Moment) -> Candidates {
        Candidates::new(self.resolution_delay)
            .first_family_count(self.first_family_count)
            .prefer(self.preferred(now))
    }

    /// Replaces the preferences that these settings have, too.
    pub(crate) fn adapt(&self, preferences: Preferences, now: Moment) -> Preferences {
        preferences
            .resolution_delay(self.resolution_delay)
            .first_family_count(self.first_family_count)
            .prefer(self.preferred(now))
    }

    fn preferred(&self, now: Moment) -> Option<Family> {
        let remembered = self.memory.as_ref().and_then(|it| it.family(now));
        remembered.or(self.prefer)
    }
}

/// Returns the delay within the range of RFC 8305.
fn clamped(delay: Duration) -> Duration {
    let delays = HappyEyeballs::ATTEMPT_DELAYS;
    delay.clamp(*delays.start(), *delays.end())
}
