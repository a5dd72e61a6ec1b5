//! Pools of permits, the services that need one, and the log of each request.

use std::{
    cell::{RefCell, RefMut},
    collections::VecDeque,
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use race_core::{
    Verdict,
    observe::{Event, EventKind, Observer, Refusal},
    test::VirtualClock,
};
use tower::Service;

use super::plan::{Call, Plan};
use crate::server::{millis, ms};

/// An answer or an error of a service, or the error of its readiness.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    /// The request that it is for.
    pub(super) owner: usize,
    pub(super) verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phase {
    /// Before its beginning.
    Idle,
    /// Its `Hedge` is polled until it is ready.
    AwaitsReady,
    /// Its `Hedge` is ready, and not called yet.
    IsReady,
    Races,
    Ended,
}

/// What is known of a request. Times are in milliseconds.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub(super) phase: Phase,
    /// When the race began.
    pub(super) began: u64,
    pub(super) starts: usize,
    pub(super) last_start: u64,
    /// An attempt failed after the last start, and after the last refusal.
    pub(super) has_failed: bool,
    /// The budget has refused the next start.
    pub(super) is_refused: bool,
    /// The last pushback ends then.
    pub(super) not_before: u64,
    /// No more attempts may start.
    pub(super) is_stopped: bool,
    /// An answer was accepted, or is fatal.
    pub(super) is_decided: bool,
}

#[derive(Debug)]
pub(super) struct Pool {
    capacity: usize,
    /// In order of arrival.
    pub(super) queue: VecDeque<Waiting>,
    pub(super) held: Vec<Permit>,
}

#[derive(Debug)]
pub(super) struct Waiting {
    service: usize,
    pub(super) owner: usize,
    waker: Waker,
}

#[derive(Debug)]
pub(super) struct Permit {
    service: usize,
    pub(super) owner: usize,
    /// By a call that is in flight, not by a service that is ready.
    pub(super) is_called: bool,
}

impl Pool {
    pub(super) fn free(&self) -> usize {
        self.capacity - self.held.len()
    }

    fn wake(&self) {
        for waiting in self.queue.iter().take(self.free()) {
            waiting.waker.wake_by_ref();
        }
    }

    /// Takes back whatever a service has: its place or its permit.
    fn leave(&mut self, service: usize) {
        self.queue.retain(|waiting| waiting.service != service);
        self.held.retain(|permit| permit.service != service);
        self.wake();
    }
}

pub(super) struct World {
    pub(super) now: u64,
    /// The request that is polled.
    pub(super) current: usize,
    pub(super) pools: Vec<Pool>,
    pub(super) logs: Vec<Log>,
    plan: Plan,
    calls: usize,
    readiness: usize,
    services: usize,
}

/// The world, shared by all services. It observes the races.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) clock: VirtualClock,
    world: Rc<RefCell<World>>,
}

impl Shared {
    pub(super) fn new(plan: &Plan) -> Self {
        let pool = |&capacity: &usize| Pool {
            capacity,
            queue: VecDeque::new(),
            held: vec![],
        };
        let log = Log {
            phase: Phase::Idle,
            began: 0,
            starts: 0,
            last_start: 0,
            has_failed: false,
            is_refused: false,
            not_before: 0,
            is_stopped: false,
            is_decided: false,
        };
        let world = World {
            now: 0,
            current: 0,
            pools: plan.permits.iter().map(pool).collect(),
            logs: vec![log; plan.requests.len()],
            plan: plan.clone(),
            calls: 0,
            readiness: 0,
            services: 0,
        };
        Self {
            clock: VirtualClock::new(),
            world: Rc::new(RefCell::new(world)),
        }
    }

    pub(super) fn world(&self) -> RefMut<'_, World> {
        self.world.borrow_mut()
    }

    /// The request that is polled enters a phase.
    pub(super) fn enter(&self, phase: Phase) {
        let mut world = self.world();
        let now = world.now;
        let log = world.log();
        log.phase = phase;
        if phase == Phase::Races {
            log.began = now;
        }
    }

    pub(super) fn advance(&self) {
        self.clock.advance(ms(1));
        self.world().now = millis(&self.clock);
    }

    pub(super) fn judged(&self, verdict: Verdict) {
        let mut world = self.world();
        let now = world.now;
        let log = world.log();
        match verdict {
            Verdict::Accept | Verdict::Fatal => log.is_decided = true,
            Verdict::NotBefore(delay) => {
                let until = now + delay.as_millis() as u64;
                log.not_before = log.not_before.max(until);
            }
            Verdict::NoMoreStarts => log.is_stopped = true,
            _ => {}
        }
    }
}

impl World {
    fn log(&mut self) -> &mut Log {
        &mut self.logs[self.current]
    }

    fn next_service(&mut self) -> usize {
        self.services += 1;
        self.services
    }

    fn next_call(&mut self) -> Call {
        let calls = &self.plan.calls;
        let call = calls[self.calls % calls.len()].clone();
        self.calls += 1;
        call
    }

    fn next_readiness(&mut self) -> bool {
        let readiness = &self.plan.readiness;
        let is_ok = readiness[self.readiness % readiness.len()];
        self.readiness += 1;
        is_ok
    }
}

impl Observer for Shared {
    fn observe(&mut self, event: Event) {
        let mut world = self.world();
        let now = world.now;
        let log = world.log();
        match event.kind {
            EventKind::Started => {
                log.starts += 1;
                log.last_start = now;
                (log.has_failed, log.is_refused) = (false, false);
            }
            EventKind::Failed | EventKind::TimedOut => log.has_failed = true,
            EventKind::Refused(Refusal::Budget) => {
                (log.has_failed, log.is_refused) = (false, true);
            }
            _ => {}
        }
    }
}

/// A service that holds a permit of its pool from its readiness until the response ends. While it
/// waits for one, it has a place in the queue of the pool.
pub(super) struct Pooled {
    world: Shared,
    pool: usize,
    /// Different for each clone.
    number: usize,
}

impl Pooled {
    pub(super) fn new(world: &Shared, pool: usize) -> Self {
        let number = world.world().next_service();
        let world = world.clone();
        Self {
            world,
            pool,
            number,
        }
    }
}

impl Clone for Pooled {
    fn clone(&self) -> Self {
        Self::new(&self.world, self.pool)
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.world.world().pools[self.pool].leave(self.number);
    }
}

impl Service<usize> for Pooled {
    type Response = Reply;
    type Error = Reply;
    type Future = Pin<Box<dyn Future<Output = Result<Reply, Reply>>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Reply>> {
        let mut world = self.world.world();
        let (owner, service) = (world.current, self.number);
        let pool = &mut world.pools[self.pool];
        if pool.held.iter().any(|permit| permit.service == service) {
            return Poll::Ready(Ok(()));
        }
        pool.queue.retain_mut(|waiting| {
            if waiting.service == service {
                waiting.waker = cx.waker().clone();
            }
            true
        });
        let found = pool.queue.iter().position(|it| it.service == service);
        let position = found.unwrap_or_else(|| {
            let waker = cx.waker().clone();
            pool.queue.push_back(Waiting {
                service,
                owner,
                waker,
            });
            pool.queue.len() - 1
        });
        if position >= pool.free() {
            return Poll::Pending;
        }
        let is_ok = world.next_readiness();
        let pool = &mut world.pools[self.pool];
        pool.leave(service);
        if !is_ok {
            let verdict = Verdict::Retryable;
            return Poll::Ready(Err(Reply { owner, verdict }));
        }
        pool.held.push(Permit {
            service,
            owner,
            is_called: false,
        });
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, owner: usize) -> Self::Future {
        // The permit goes to the response, and this service needs another one.
        let mut response = self.clone();
        std::mem::swap(&mut self.number, &mut response.number);
        let mut world = self.world.world();
        let held = &mut world.pools[self.pool].held;
        let mut held = held.iter_mut();
        let permit = held.find(|permit| permit.service == response.number);
        permit
            .expect("a service is called when it is ready")
            .is_called = true;
        let call = world.next_call();
        drop(world);
        let sleep = call
            .latency
            .map(|latency| self.world.clock.sleep(ms(latency)));
        Box::pin(async move {
            let _permit = response;
            match sleep {
                Some(sleep) => sleep.await,
                None => std::future::pending().await,
            }
            let reply = Reply {
                owner,
                verdict: call.verdict,
            };
            if call.is_ok { Ok(reply) } else { Err(reply) }
        })
    }
}
