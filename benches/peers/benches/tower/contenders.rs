//! The hedged services that are compared. No hedge is due in any of them.

use std::{sync::Arc, time::Duration};

use race_core::Adaptive;
use race_tower::tokio::HedgeLayer;
use tokio::runtime::Runtime;
use tower::{Layer as _, Service, hedge};

use crate::server::{Server, ask};

/// The delay: no request takes as long.
const DELAY: Duration = Duration::from_secs(10);

/// Longer than the benchmark: how long `tower::hedge` keeps its latencies.
const HOUR: Duration = Duration::from_secs(3_600);

/// The names of the contenders. `*` marks ours, `-` what is not a peer.
pub(crate) const NAMES: [&str; 5] = [
    "- the service alone",
    "* race-tower, a fixed delay",
    "* race-tower, adaptive",
    "  tower::hedge",
    "- tower::hedge that cannot hedge yet",
];

pub(crate) const OURS: [usize; 2] = [1, 2];

/// The contender beside which the others are judged.
pub(crate) const PEER: usize = 3;

/// Sends requests in a runtime.
pub(crate) type Contender = Box<dyn FnMut(&Runtime, u32)>;

/// Returns the contender with this index in [`NAMES`]. Each answer is pending for this number of
/// polls.
pub(crate) fn contender(index: usize, pending: u32) -> Contender {
    let server = Server { pending };
    match index {
        0 => of(server),
        1 => of(HedgeLayer::new(DELAY).layer(server)),
        2 => {
            let delay = Arc::new(Adaptive::quantile(0.99).floor(DELAY));
            of(HedgeLayer::new(delay).layer(server))
        }
        // It hedges at a quantile of the latencies that it is given: after the same delay.
        PEER => {
            let latencies = [DELAY.as_millis() as u64; 1_000];
            of(hedge::Hedge::new_with_mock_latencies(
                server, Always, 1, 0.99, HOUR, &latencies,
            ))
        }
        // It hedges once it has this many latencies: never. It sets no timer until then.
        _ => of(hedge::Hedge::new(server, Always, u64::MAX, 0.99, HOUR)),
    }
}

fn of<S: Service<u32, Response = u32> + 'static>(mut service: S) -> Contender {
    Box::new(move |runtime, requests| runtime.block_on(ask(&mut service, requests)))
}

/// Every request may be repeated.
#[derive(Clone)]
struct Always;

impl hedge::Policy<u32> for Always {
    fn clone_request(&self, request: &u32) -> Option<u32> {
        Some(*request)
    }

    fn can_retry(&self, _: &u32) -> bool {
        true
    }
}
