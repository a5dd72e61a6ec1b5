//! The task that keeps the lease of the node.

use std::{sync::Arc, time::Duration};

use super::Terms;
use crate::{
    clock::Clock,
    cluster::{
        calls::Calls,
        lease::{Lease, Term},
        log::Log,
    },
};

/// Takes the lease, keeps it alive and publishes its term, until the future is dropped. Calls
/// `taken` when a term begins: then the shards have to look at it. They know its end themselves.
pub(super) async fn keep(
    log: Arc<impl Log>,
    mut lease: Lease,
    clock: Clock,
    terms: Arc<Terms>,
    taken: impl Fn() + Send,
) {
    let mut calls = Calls::default();
    let mut has_failed = false;
    loop {
        let now = clock.now();
        let Some((call, request)) = lease.request(|| calls.next(), now) else {
            let next = lease.next().expect("no request is under way");
            let pause = next.since(now.monotonic);
            tokio::time::sleep(Duration::from_nanos(pause)).await;
            continue;
        };
        let answer = log.call(request).await;
        let now = clock.now();
        let before = lease.term().filter(|term| term.holds(now));
        if let (Err(error), false) = (&answer, has_failed) {
            tracing::warn!(%error, "the log does not answer: the lease of this node is at risk");
        }
        has_failed = answer.is_err();
        lease.answered(call, &answer, now);
        let term = lease.term();
        terms.publish(term);
        if is_new(before, term.filter(|term| term.holds(now))) {
            taken();
        }
    }
}

/// Returns whether a term holds that did not before.
fn is_new(before: Option<Term>, now: Option<Term>) -> bool {
    now.is_some() && now.map(|term| term.lease) != before.map(|term| term.lease)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::cluster::{
        Charter, ShardId,
        lease::LeaseTimes,
        log::{Member, Request, fake_async::SharedLog},
    };

    const LEASE: Duration = Duration::from_millis(200);

    async fn until(is_so: impl Fn() -> bool) {
        let waiting = async {
            while !is_so() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waiting = tokio::time::timeout(Duration::from_secs(30), waiting);
        waiting.await.expect("it becomes so");
    }

    #[tokio::test]
    async fn the_shards_look_when_a_term_begins() {
        let clock = Clock::new();
        let charter = Charter {
            cluster: 1,
            shards: 1,
        };
        let log = SharedLog::new(charter, clock);
        let connection = log.connect(LEASE / 4);
        let member = Member {
            node: "a".into(),
            address: "a:1".into(),
        };
        let lease = Lease::new(LeaseTimes::of(LEASE), member, clock.now());
        let (terms, taken) = (Arc::new(Terms::default()), Arc::new(AtomicUsize::new(0)));
        let count = taken.clone();
        let keeping = keep(connection.clone(), lease, clock, terms.clone(), move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let _keeping = tokio::spawn(keeping);
        let holds = || terms.current().is_some_and(|term| term.holds(clock.now()));
        until(|| taken.load(Ordering::Relaxed) > 0 && holds()).await;
        let first = terms.current().expect("it holds").lease;

        connection.cut(true);
        until(|| !holds()).await;
        // The log ends the lease when anything is asked of it.
        until(|| {
            log.carry_out(&Request::Reports(ShardId(0)));
            !log.inner().is_alive("a")
        })
        .await;
        let before = taken.load(Ordering::Relaxed);
        connection.cut(false);
        until(|| taken.load(Ordering::Relaxed) > before && holds()).await;
        assert_ne!(terms.current().expect("it holds").lease, first);
    }
}
