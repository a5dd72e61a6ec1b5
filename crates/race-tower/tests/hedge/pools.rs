//! Random requests over services that need a permit of a pool: who holds one, and who waits for one.

mod plan;
mod pool;

use std::{
    fmt::Debug,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use proptest::prelude::*;
use race_core::{OnFailure, test::VirtualTimer};
use race_tower::{Backends, Hedge, HedgeError, Replicas};
use tower::{Layer as _, Service as _};

use self::{
    plan::{Options, Plan, Rules},
    pool::{Log, Phase, Pooled, Reply, Shared, World},
};
use crate::server::ms;

/// When all that is left is dropped.
const END: u64 = 120;

type Hedged<B> = Hedge<B, VirtualTimer, Duration, Rules, Shared>;
type Answer = Result<Reply, HedgeError<Reply>>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn permits_are_held_by_calls_and_awaited_by_starts_that_are_due(plan in plan::plans()) {
        let world = Shared::new(&plan);
        let layer = plan.options.layer(&world, world.clock.timer());
        match plan.replicas {
            None => run(&plan, &world, layer.layer(Pooled::new(&world, 0))),
            Some(count) => {
                let pools = plan.permits.len();
                let services = (0..count).map(|number| Pooled::new(&world, number % pools));
                run(&plan, &world, layer.over(Replicas::new(services)));
            }
        }
        for pool in &world.world().pools {
            prop_assert!(pool.queue.is_empty() && pool.held.is_empty(), "{pool:?}");
        }
    }
}

fn run<B>(plan: &Plan, world: &Shared, hedge: Hedged<B>)
where
    B: Backends<usize, Service: tower::Service<usize, Response = Reply, Error = Reply>> + 'static,
{
    let mut tasks: Vec<Task> = plan.requests.iter().map(|_| Task::default()).collect();
    for now in 0..END {
        for (number, request) in plan.requests.iter().enumerate() {
            let task = &mut tasks[number];
            if request.begins == now {
                let future = ask(world.clone(), hedge.clone(), number, plan.clone());
                task.future = Some(Box::pin(future));
                task.wake.0.store(true, Ordering::Relaxed);
            }
            if request.dropped == Some(now) {
                task.drop(world, number);
            }
        }
        poll_all(plan, world, &mut tasks, now);
        let checked = check(&plan.options, &world.world());
        assert_eq!(checked, Ok(()), "at {now} ms");
        world.advance();
    }
    for (number, mut task) in tasks.into_iter().enumerate() {
        task.drop(world, number);
    }
}

/// Polls those that were woken until none is, and some that were not.
fn poll_all(plan: &Plan, world: &Shared, tasks: &mut [Task], now: u64) {
    let mut spurious = plan.spurious.rotate_left((now * 7 % 64) as u32);
    loop {
        let mut is_idle = true;
        for (number, task) in tasks.iter_mut().enumerate() {
            let is_woken = task.wake.0.swap(false, Ordering::Relaxed);
            if is_woken || spurious >> number & 3 == 3 {
                is_idle &= !is_woken;
                task.poll(world, number);
            }
        }
        spurious = 0;
        if is_idle {
            return;
        }
    }
}

/// Sends a request. The future of the answer is kept for a while after it has ended.
async fn ask<B>(world: Shared, mut hedge: Hedged<B>, number: usize, plan: Plan)
where
    B: Backends<usize, Service: tower::Service<usize, Response = Reply, Error = Reply>>,
{
    let request = &plan.requests[number];
    world.enter(Phase::AwaitsReady);
    if poll_fn(|cx| hedge.poll_ready(cx)).await.is_err() {
        return world.enter(Phase::Ended);
    }
    world.enter(Phase::IsReady);
    world.clock.sleep(ms(request.pause)).await;
    world.enter(Phase::Races);
    let mut future = pin!(hedge.call(number));
    drop(hedge);
    let answer = future.as_mut().await;
    check_answer(&plan.options, &world, number, &answer);
    world.enter(Phase::Ended);
    world.clock.sleep(ms(request.kept)).await;
}

#[track_caller]
fn check_answer(options: &Options, world: &Shared, number: usize, answer: &Answer) {
    let log = world.world().logs[number].clone();
    let now = world.world().now;
    assert_eq!(log.phase, Phase::Races, "a second answer");
    match answer {
        Ok(reply) | Err(HedgeError::Service(reply)) => assert_eq!(reply.owner, number),
        Err(HedgeError::Deadline(deadline)) => {
            assert_eq!(options.deadline.map(ms), Some(*deadline));
            assert!(log.began + options.deadline.unwrap() >= now, "late");
        }
        Err(HedgeError::TimedOut(timeout)) => {
            assert_eq!(options.attempt_timeout.map(ms), Some(*timeout));
        }
        Err(error) => panic!("{error:?}"),
    }
}

/// Checks what holds when all are idle.
fn check(options: &Options, world: &World) -> Result<(), String> {
    for pool in &world.pools {
        ensure(
            pool.free() == 0 || pool.queue.is_empty(),
            "an idle permit",
            pool,
        )?;
    }
    for (number, log) in world.logs.iter().enumerate() {
        let held = || world.pools.iter().flat_map(|pool| &pool.held);
        let held = || held().filter(|permit| permit.owner == number);
        let calls = held().filter(|permit| permit.is_called).count();
        let ready = held().count() - calls;
        let mut queues = world.pools.iter().flat_map(|pool| &pool.queue);
        let waits = queues.any(|waiting| waiting.owner == number);
        let of = |what, holds| ensure(holds, what, &(number, log));

        of(
            "a permit without a call",
            ready == usize::from(log.phase == Phase::IsReady),
        )?;
        if log.phase != Phase::Races {
            of("a call after the end", calls == 0)?;
            let is_awaited = log.phase == Phase::AwaitsReady;
            of("a place without a race", waits == is_awaited)?;
            continue;
        }
        let (may, must) = is_due(options, log, calls, world.now);
        of("a place without a start that is due", may || !waits)?;
        of("a due start that does not wait", waits || !must)?;
        of(
            "too many calls",
            calls <= options.max_in_flight.unwrap_or(usize::MAX),
        )?;
        of("too many starts", log.starts <= options.attempts())?;
        of("no answer", !log.is_decided)?;
        let can_start = log.starts < options.attempts() && !log.is_stopped;
        of("nothing left to wait for", calls > 0 || can_start)?;
        let deadline = options.deadline.map(|deadline| log.began + deadline);
        of(
            "no end at the deadline",
            deadline.is_none_or(|it| world.now < it),
        )?;
    }
    Ok(())
}

fn ensure(holds: bool, what: &str, context: &dyn Debug) -> Result<(), String> {
    holds
        .then_some(())
        .ok_or_else(|| format!("{what}: {context:?}"))
}

/// Returns whether the next start may be due, and whether it is for certain. After a failure it may
/// be, by the options; after its delay it is, unless it was refused.
fn is_due(options: &Options, log: &Log, calls: usize, now: u64) -> (bool, bool) {
    let gap = options.min_gap.unwrap_or(0);
    let is_possible = !log.is_stopped
        && log.starts < options.attempts()
        && calls < options.max_in_flight.unwrap_or(usize::MAX)
        && now >= log.not_before
        && now >= log.last_start + gap;
    let by_delay = options
        .delay
        .is_some_and(|delay| now >= log.last_start + delay);
    let by_failure = log.has_failed && options.on_failure != OnFailure::Wait;
    let by_delay = by_delay && !log.is_refused;
    (
        is_possible && (by_delay || by_failure),
        is_possible && by_delay,
    )
}

/// A request on an executor that polls what was woken.
#[derive(Default)]
struct Task {
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
    wake: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Task {
    fn poll(&mut self, world: &Shared, number: usize) {
        let Some(future) = &mut self.future else {
            return;
        };
        world.world().current = number;
        let waker = Waker::from(self.wake.clone());
        if let Poll::Ready(()) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            self.future = None;
        }
    }

    fn drop(&mut self, world: &Shared, number: usize) {
        world.world().current = number;
        if self.future.take().is_some() {
            world.enter(Phase::Ended);
        }
    }
}
