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
            tracing::warn!(%error, "the lease of this node could not be kept alive; it is tried again");
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
