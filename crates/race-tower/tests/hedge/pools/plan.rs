//! What is drawn at random: the options of the layer, the services, and the requests.

use std::{sync::Arc, time::Duration};

use proptest::{option::weighted, prelude::*};
use race_core::{Budget, OnFailure, Verdict, test::VirtualTimer};
use race_tower::GenericHedgeLayer;

use super::pool::{Reply, Shared};
use crate::server::ms;

/// Of one layer. Times are in milliseconds.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) delay: Option<u64>,
    pub(super) max_attempts: usize,
    pub(super) max_in_flight: Option<usize>,
    pub(super) min_gap: Option<u64>,
    pub(super) on_failure: OnFailure,
    pub(super) attempt_timeout: Option<u64>,
    pub(super) deadline: Option<u64>,
    /// Percent, reserve, and whether fail-over is charged.
    budget: Option<(u16, u16, bool)>,
    /// Whether rules that follow the verdicts let a request be repeated; `None` is the default rules.
    rules: Option<bool>,
}

/// How a call is answered.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// `None` is never.
    pub(super) latency: Option<u64>,
    pub(super) is_ok: bool,
    pub(super) verdict: Verdict,
}

/// Times are in milliseconds.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) begins: u64,
    pub(super) dropped: Option<u64>,
    /// Between the readiness of the service and its call.
    pub(super) pause: u64,
    /// How long the future is kept that has returned its answer.
    pub(super) kept: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) options: Options,
    /// The permits of each pool.
    pub(super) permits: Vec<usize>,
    /// `None` is copies of one service.
    pub(super) replicas: Option<usize>,
    /// Used one after the other, again and again.
    pub(super) calls: Vec<Call>,
    /// Whether the readiness succeeds, as `calls`.
    pub(super) readiness: Vec<bool>,
    pub(super) requests: Vec<Request>,
    /// Which requests are polled without a wake-up.
    pub(super) spurious: u64,
}

fn maybe<T: std::fmt::Debug + Clone>(
    some: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    proptest::option::of(some)
}

fn options() -> impl Strategy<Value = Options> {
    let on_failure = prop_oneof![
        Just(OnFailure::Wait),
        Just(OnFailure::IfLatest),
        Just(OnFailure::IfIdle),
        Just(OnFailure::Any),
    ];
    let budget = (
        prop_oneof![Just(0_u16), 1..100_u16],
        0..3_u16,
        any::<bool>(),
    );
    (
        (
            weighted(0.8, 0..15_u64),
            prop_oneof![1 => Just(1_usize), 5 => 2..5_usize],
            maybe(1..4_usize),
            maybe(1..15_u64),
        ),
        (
            on_failure,
            weighted(0.3, 1..30_u64),
            weighted(0.3, 1..60_u64),
            weighted(0.4, budget),
        ),
        weighted(0.8, proptest::bool::weighted(0.9)),
    )
        .prop_map(|(starts, ends, rules)| Options {
            delay: starts.0,
            max_attempts: starts.1,
            max_in_flight: starts.2,
            min_gap: starts.3,
            on_failure: ends.0,
            attempt_timeout: ends.1,
            deadline: ends.2,
            budget: ends.3,
            rules,
        })
}

fn call() -> impl Strategy<Value = Call> {
    let verdict = prop_oneof![
        2 => Just(Verdict::Accept),
        2 => Just(Verdict::Retryable),
        1 => Just(Verdict::Fatal),
        2 => (0..25_u64).prop_map(|delay| Verdict::NotBefore(ms(delay))),
        2 => Just(Verdict::NoMoreStarts),
    ];
    let latency = prop_oneof![5 => (0..30_u64).prop_map(Some), 1 => Just(None)];
    (latency, any::<bool>(), verdict).prop_map(|(latency, is_ok, verdict)| Call {
        latency,
        is_ok,
        verdict,
    })
}

fn request() -> impl Strategy<Value = Request> {
    let pause = prop_oneof![Just(0_u64), 1..10_u64];
    let kept = prop_oneof![Just(0_u64), 1..10_u64];
    (0..30_u64, weighted(0.3, 0..60_u64), pause, kept).prop_map(|(begins, after, pause, kept)| {
        Request {
            begins,
            dropped: after.map(|after| begins + after),
            pause,
            kept,
        }
    })
}

pub(super) fn plans() -> impl Strategy<Value = Plan> {
    let services = (
        proptest::collection::vec(1..4_usize, 1..4),
        maybe(2..4_usize),
        proptest::collection::vec(call(), 1..12),
        proptest::collection::vec(proptest::bool::weighted(0.85), 1..12),
    );
    let requests = proptest::collection::vec(request(), 1..9);
    (options(), services, requests, any::<u64>()).prop_map(
        |(options, (permits, replicas, calls, readiness), requests, spurious)| Plan {
            options,
            permits,
            replicas,
            calls,
            readiness,
            requests,
            spurious,
        },
    )
}

impl Options {
    /// How many attempts a request has at most.
    pub(super) fn attempts(&self) -> usize {
        match self.rules {
            Some(false) => 1,
            _ => self.max_attempts,
        }
    }

    pub(super) fn layer(
        &self,
        world: &Shared,
        timer: VirtualTimer,
    ) -> GenericHedgeLayer<VirtualTimer, Duration, Rules, Shared> {
        let delay = self.delay.map_or(Duration::MAX, ms);
        let mut layer = GenericHedgeLayer::with_timer(timer, delay)
            .max_attempts(self.max_attempts)
            .on_failure(self.on_failure)
            .rules(Rules {
                world: world.clone(),
                repeats: self.rules != Some(false),
                by_verdict: self.rules.is_some(),
            })
            .observer(world.clone());
        if let Some(max) = self.max_in_flight {
            layer = layer.max_in_flight(max);
        }
        if let Some(gap) = self.min_gap {
            layer = layer.min_gap(ms(gap));
        }
        if let Some(timeout) = self.attempt_timeout {
            layer = layer.attempt_timeout(ms(timeout));
        }
        if let Some(deadline) = self.deadline {
            layer = layer.deadline(ms(deadline));
        }
        if let Some((percent, reserve, charges)) = self.budget {
            let budget = Budget::percent(percent).reserve(reserve);
            let budget = if charges {
                budget.charge_failover()
            } else {
                budget
            };
            layer = layer.budget(Arc::new(budget));
        }
        layer
    }
}

/// Rules that follow the verdict of a reply, or judge as the default rules do.
#[derive(Clone)]
pub(super) struct Rules {
    world: Shared,
    repeats: bool,
    by_verdict: bool,
}

impl race_tower::Rules<usize, Reply, Reply> for Rules {
    fn repeat(&self, request: &usize) -> Option<usize> {
        self.repeats.then_some(*request)
    }

    fn judge(&self, answer: &Result<Reply, Reply>) -> Verdict {
        let verdict = match answer {
            Ok(reply) | Err(reply) if self.by_verdict => reply.verdict,
            Ok(_) => Verdict::Accept,
            Err(_) => Verdict::Retryable,
        };
        self.world.judged(verdict);
        verdict
    }
}
