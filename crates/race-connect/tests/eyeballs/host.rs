//! A host with a resolver that answers over time, and addresses that connect or do not.

use std::{
    cell::RefCell,
    io,
    net::SocketAddr,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use futures::Stream;
use race_connect::{
    Answer, ConnectError, Connected, Family, HappyEyeballs,
    race_core::{
        AttemptHandle, Moment, Timer as _,
        test::{VirtualClock, VirtualTimer},
    },
};

/// Never ends.
pub(crate) const HANGS: u64 = u64::MAX;

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What an attempt to an address comes to, and when.
pub(crate) type Plan = (&'static str, u64, Result<(), io::ErrorKind>);

pub(crate) struct Host {
    pub(crate) clock: VirtualClock,
    plans: Vec<Plan>,
    log: Rc<RefCell<Log>>,
}

#[derive(Default)]
struct Log {
    starts: Vec<(&'static str, u64)>,
    closed: Vec<(&'static str, u64)>,
}

/// A connection, or an attempt to make one, that records its end.
#[derive(Debug)]
pub(crate) struct Connection {
    name: &'static str,
    clock: VirtualClock,
    log: Rc<RefCell<Log>>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Log")
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let now = millis(&self.clock);
        self.log.borrow_mut().closed.push((self.name, now));
    }
}

pub(crate) fn millis(clock: &VirtualClock) -> u64 {
    clock.elapsed().as_millis() as u64
}

/// "6a" is an IPv6 address, "4b" an IPv4 address. "L", "M" and "N" are loopback addresses: of IPv4,
/// of IPv6, and of IPv4 mapped into IPv6.
pub(crate) fn address(name: &str) -> SocketAddr {
    match name {
        "L" => return "127.0.0.1:443".parse().unwrap(),
        "M" => return "[::1]:443".parse().unwrap(),
        "N" => return "[::ffff:127.0.0.1]:443".parse().unwrap(),
        _ => {}
    }
    let (family, host) = name.split_at(1);
    let host = u16::from(host.as_bytes()[0]);
    let ip = match family {
        "6" => format!("[2001:db8::{host:x}]"),
        _ => format!("192.0.2.{host}"),
    };
    format!("{ip}:443").parse().unwrap()
}

pub(crate) fn addresses(names: &str) -> Answer {
    Answer::Addresses(names.split_whitespace().map(address).collect())
}

pub(crate) fn failed(family: Family) -> Answer {
    Answer::Failed(family, io::Error::other("SERVFAIL"))
}

/// Answers, each at its time.
pub(crate) struct Answers {
    answers: std::vec::IntoIter<(u64, Answer)>,
    next: Option<(u64, Answer)>,
    timer: VirtualTimer,
}

impl Stream for Answers {
    type Item = Answer;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Answer>> {
        if self.next.is_none() {
            self.next = self.answers.next();
        }
        let Some((at, _)) = self.next else {
            return Poll::Ready(None);
        };
        let arrives = Moment::from(ms(at));
        std::task::ready!(Pin::new(&mut self.timer).poll_until(arrives, cx));
        Poll::Ready(self.next.take().map(|(_, answer)| answer))
    }
}

impl Host {
    pub(crate) fn new(plans: impl IntoIterator<Item = Plan>) -> Self {
        Self {
            clock: VirtualClock::new(),
            plans: plans.into_iter().collect(),
            log: Rc::default(),
        }
    }

    pub(crate) fn answers(&self, answers: impl IntoIterator<Item = (u64, Answer)>) -> Answers {
        Answers {
            answers: answers.into_iter().collect::<Vec<_>>().into_iter(),
            next: None,
            timer: self.clock.timer(),
        }
    }

    fn dial(
        &self,
        to: SocketAddr,
    ) -> (
        Connection,
        impl Future<Output = Result<(), io::ErrorKind>> + use<>,
    ) {
        let plan = self.plans.iter().find(|(name, ..)| address(name) == to);
        let &(name, latency, result) = plan.expect("it has a plan");
        let (clock, log) = (self.clock.clone(), self.log.clone());
        log.borrow_mut().starts.push((name, millis(&clock)));
        let connection = Connection {
            name,
            clock: clock.clone(),
            log,
        };
        let connected = async move {
            match latency {
                HANGS => std::future::pending().await,
                latency => clock.sleep(ms(latency)).await,
            }
            result
        };
        (connection, connected)
    }

    /// Connects, and returns the connection and when it was made.
    pub(crate) fn connect(
        &self,
        settings: &HappyEyeballs,
        answers: impl IntoIterator<Item = (u64, Answer)>,
    ) -> Result<Connected<Connection>, ConnectError> {
        self.connect_with(settings, answers, |_, _| async {})
    }

    /// The same; each attempt goes on after it has connected.
    pub(crate) fn connect_with<F: Future<Output = ()>>(
        &self,
        settings: &HappyEyeballs,
        answers: impl IntoIterator<Item = (u64, Answer)>,
        handshake: impl Fn(SocketAddr, AttemptHandle) -> F,
    ) -> Result<Connected<Connection>, ConnectError> {
        let dial = |address, handle: AttemptHandle| {
            let (connection, connected) = self.dial(address);
            let handshake = &handshake;
            async move {
                connected.await.map_err(io::Error::from)?;
                handshake(address, handle).await;
                Ok(connection)
            }
        };
        let race = settings.race(self.clock.timer(), self.answers(answers), dial);
        self.clock.run(race).unwrap()
    }

    /// When attempts started.
    pub(crate) fn starts(&self) -> Vec<(&'static str, u64)> {
        self.log.borrow().starts.clone()
    }

    /// When attempts and connections ended.
    pub(crate) fn closed(&self) -> Vec<(&'static str, u64)> {
        self.log.borrow().closed.clone()
    }
}
