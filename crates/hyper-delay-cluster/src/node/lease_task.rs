//! The task that keeps the lease of the node.

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;

use super::CurrentTerm;
use crate::{
    call_id::CallIds,
    lease::{Lease, Term},
    link::missing_links::MissingLinks,
    log::{AnnounceOutcome, Heartbeat, Log, LogAnswer, LogUnanswered},
};
use hyper_delay_engine::clock::Clock;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::node::lease_task";

/// How the lease of a stopping node ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseEnding {
    /// The node leads nothing: its heartbeat is removed, and the next process need not wait.
    HandedOver,
    /// Its shards are taken over when its heartbeat has not changed for a lease.
    Silent,
}

/// Takes the lease, keeps it alive and publishes its term, until the future is dropped. The
/// heartbeats report the missing links. Calls `on_new_term` when a term begins: then the shards
/// must read it. They know its end themselves.
///
/// Returns after `leave` has received how the lease ends, and the lease has ended.
pub(super) async fn run(
    log: Arc<impl Log>,
    mut lease: Lease,
    clock: Clock,
    terms: Arc<CurrentTerm>,
    missing: Arc<MissingLinks>,
    on_new_term: impl Fn() + Send,
    leave: oneshot::Receiver<LeaseEnding>,
) {
    tokio::select! {
        () = keep_alive(&*log, &mut lease, clock, &terms, &missing, on_new_term) => {}
        Ok(leaving) = leave => {
            terms.publish(None);
            if leaving == LeaseEnding::HandedOver
                && let Err(error) = log.call(lease.leave_request()).await
            {
                tracing::warn!(
                    target: TARGET,
                    %error,
                    "the heartbeat stays: the next start waits for a lease",
                );
            }
        }
    }
}

async fn keep_alive(
    log: &impl Log,
    lease: &mut Lease,
    clock: Clock,
    terms: &CurrentTerm,
    missing: &MissingLinks,
    on_new_term: impl Fn() + Send,
) {
    let mut calls = CallIds::default();
    let mut has_failed = false;
    let mut rival = RivalProcess::default();
    loop {
        let now = clock.now();
        let asked = lease.request(|| calls.next(), || missing.all(), now);
        terms.publish(lease.term());
        let Some((call, request)) = asked else {
            let next = lease.next().expect("no request is in flight");
            let pause = next.since(now.monotonic);
            tokio::time::sleep(Duration::from_nanos(pause)).await;
            continue;
        };
        let answer = log.call(request).await;
        let now = clock.now();
        let before = lease.term().filter(|term| term.holds(now));
        if let (Err(error), false) = (&answer, has_failed) {
            tracing::warn!(
                target: TARGET,
                %error,
                "etcd does not answer: the lease of this node is at risk",
            );
        }
        has_failed = answer.is_err();
        if rival.detect(&answer, |heartbeat| lease.is_own(heartbeat)) {
            tracing::warn!(
                target: TARGET,
                "another process has the name of this node, and keeps its lease: this one waits",
            );
        }
        terms.note_rival(rival.is_there);
        lease.answered(call, &answer, now);
        let term = lease.term();
        terms.publish(term);
        if is_new(before, term.filter(|term| term.holds(now))) {
            on_new_term();
        }
    }
}

/// Another process with the name of this node.
#[derive(Debug, Default)]
struct RivalProcess {
    /// The heartbeat that the last announcement has found.
    heartbeat: Option<Heartbeat>,
    /// It keeps the lease.
    is_there: bool,
}

impl RivalProcess {
    /// Returns whether an answer shows that there is one, and none was known: a heartbeat in the way
    /// that this process has not sent, and that keeps changing. That of an ended process does not.
    fn detect(
        &mut self,
        answer: &Result<LogAnswer, LogUnanswered>,
        is_own: impl FnOnce(Heartbeat) -> bool,
    ) -> bool {
        let heartbeat = match answer {
            Ok(LogAnswer::Announced(AnnounceOutcome::Not(Some(heartbeat))))
                if !is_own(*heartbeat) =>
            {
                heartbeat
            }
            Ok(LogAnswer::Announced(_)) => {
                *self = Self::default();
                return false;
            }
            _ => return false,
        };
        let before = self.heartbeat.replace(*heartbeat);
        let has_changed = |before: Heartbeat| {
            before.lease == heartbeat.lease && before.revision != heartbeat.revision
        };
        if !before.is_some_and(has_changed) {
            return false;
        }
        !std::mem::replace(&mut self.is_there, true)
    }
}

/// Returns whether a term holds that did not before.
fn is_new(before: Option<Term>, now: Option<Term>) -> bool {
    now.is_some() && now.map(|term| term.lease) != before.map(|term| term.lease)
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;
    use crate::{
        Charter,
        lease::LeaseTimes,
        log::{LeaseId, LogAnswer, LogRequest, Member, fake_async::SharedLog},
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

    fn log() -> Arc<SharedLog> {
        SharedLog::new(Charter {
            cluster: 1,
            shards: 1,
        })
    }

    fn member() -> Member {
        Member {
            node: "a".into(),
            address: "a:1".into(),
        }
    }

    /// Returns the lease of the last heartbeat in the log.
    fn heard(log: &SharedLog) -> Option<LeaseId> {
        log.carry_out(&LogRequest::Join(member()));
        let LogAnswer::Members(members) = log.carry_out(&LogRequest::Members) else {
            panic!("no members");
        };
        members[0].heartbeat.map(|heartbeat| heartbeat.lease)
    }

    #[tokio::test]
    async fn the_shards_look_when_a_term_begins() {
        let (clock, log) = (Clock::new(), log());
        let connection = log.connect(LEASE / 4);
        let lease = Lease::new(LeaseTimes::of(LEASE), member(), LeaseId(80), clock.now());
        let (terms, on_new_term) = (
            Arc::new(CurrentTerm::default()),
            Arc::new(AtomicUsize::new(0)),
        );
        let count = on_new_term.clone();
        let taken_ = move || {
            count.fetch_add(1, Ordering::Relaxed);
        };
        let (_leave, leaving) = oneshot::channel();
        let keeping = run(
            connection.clone(),
            lease,
            clock,
            terms.clone(),
            Arc::default(),
            taken_,
            leaving,
        );
        let _keeping = tokio::spawn(keeping);
        let holds = || terms.load().is_some_and(|term| term.holds(clock.now()));
        let first = Cell::new(None);
        until(|| {
            first.set(terms.load().filter(|term| term.holds(clock.now())));
            on_new_term.load(Ordering::Relaxed) > 0 && first.get().is_some()
        })
        .await;
        let first = first.get().expect("it was so").lease;

        connection.cut(true);
        until(|| !holds()).await;
        let before = on_new_term.load(Ordering::Relaxed);
        connection.cut(false);
        until(|| on_new_term.load(Ordering::Relaxed) > before && holds()).await;
        let second = terms.load().expect("it holds").lease;
        assert!(second > first, "{second:?} is a new one");
    }

    #[tokio::test]
    async fn the_missing_links_are_in_the_log() {
        let (clock, log) = (Clock::new(), log());
        let lease = Lease::new(LeaseTimes::of(LEASE), member(), LeaseId(80), clock.now());
        let missing = Arc::new(MissingLinks::default());
        let b = Member {
            node: "b".into(),
            address: "b:1".into(),
        };
        missing.add_members(&[member(), b], &"a".into());
        let (_leave, leaving) = oneshot::channel();
        let connection = log.connect(LEASE / 4);
        let terms = Arc::default();
        let keeping = run(
            connection,
            lease,
            clock,
            terms,
            missing.clone(),
            || {},
            leaving,
        );
        let _keeping = tokio::spawn(keeping);
        log.carry_out(&LogRequest::Join(member()));
        let reported = || {
            let LogAnswer::Members(members) = log.carry_out(&LogRequest::Members) else {
                panic!("no members");
            };
            let links = members[0].missing_links.iter();
            links.map(|link| link.to.to_string()).collect::<Vec<_>>()
        };
        until(|| reported() == ["b"]).await;
        missing.retain(|_| false);
        until(|| reported().is_empty()).await;
    }

    #[tokio::test]
    async fn another_process_with_the_name_is_noted_until_it_is_gone() {
        let (clock, log) = (Clock::new(), log());
        let other = LeaseId(7);
        log.carry_out(&LogRequest::Announce {
            member: member(),
            lease: other,
            ttl: LEASE,
            replaces: 0,
        });
        let lease = Lease::new(LeaseTimes::of(LEASE), member(), LeaseId(80), clock.now());
        let terms = Arc::new(CurrentTerm::default());
        let (_leave, leaving) = oneshot::channel();
        let connection = log.connect(LEASE / 4);
        let keeping = run(
            connection,
            lease,
            clock,
            terms.clone(),
            Arc::default(),
            || {},
            leaving,
        );
        let _keeping = tokio::spawn(keeping);
        until(|| {
            log.carry_out(&LogRequest::KeepAlive {
                member: member(),
                lease: other,
                ttl: LEASE,
                missing_links: [].into(),
            });
            terms.has_rival()
        })
        .await;
        assert_eq!(terms.load(), None);
        until(|| terms.load().is_some()).await;
        assert!(!terms.has_rival());
    }

    fn found(lease: u64, revision: u64) -> Result<LogAnswer, LogUnanswered> {
        Ok(LogAnswer::Announced(AnnounceOutcome::Not(Some(
            Heartbeat {
                lease: LeaseId(lease),
                revision,
                ttl: LEASE,
            },
        ))))
    }

    #[test]
    fn a_heartbeat_that_changes_shows_another_process_once_until_it_is_gone() {
        let mut rival = RivalProcess::default();
        let lost = || Err(LogUnanswered("no answer".into()));
        let gone = || Ok(LogAnswer::Announced(AnnounceOutcome::Not(None)));
        // What comes, and whether it shows one, and one is there.
        for (answer, expected) in [
            (found(5, 10), (false, false)),
            (found(5, 10), (false, false)),
            (found(6, 11), (false, false)),
            (lost(), (false, false)),
            (found(6, 12), (true, true)),
            (found(6, 13), (false, true)),
            (lost(), (false, true)),
            (gone(), (false, false)),
            (found(6, 14), (false, false)),
            (found(6, 15), (true, true)),
        ] {
            let shows = rival.detect(&answer, |_| false);
            assert_eq!((shows, rival.is_there), expected, "{answer:?}");
        }
    }

    #[test]
    fn heartbeats_of_this_process_show_no_other_one() {
        let (now, mut connection) = (Clock::new().now(), CallIds::default());
        let mut lease = Lease::new(LeaseTimes::of(LEASE), member(), LeaseId(80), now);
        let (_, request) = lease
            .request(|| connection.next(), || [].into(), now)
            .expect("it is time");
        let LogRequest::Announce { lease: own, .. } = request else {
            panic!("{request:?}");
        };
        let mut rival = RivalProcess::default();
        // A heartbeat whose answer was lost is carried out between the two.
        for revision in [10, 11] {
            let shows = rival.detect(&found(own.0, revision), |heartbeat| lease.is_own(heartbeat));
            assert!(!shows && !rival.is_there);
        }
        for (revision, expected) in [(12, false), (13, true)] {
            let shows = rival.detect(&found(own.0 + 1, revision), |heartbeat| {
                lease.is_own(heartbeat)
            });
            assert_eq!((shows, rival.is_there), (expected, expected));
        }
    }

    #[tokio::test]
    async fn the_heartbeat_is_removed_at_the_end() {
        let (clock, log) = (Clock::new(), log());
        let lease = Lease::new(LeaseTimes::of(LEASE), member(), LeaseId(80), clock.now());
        let terms = Arc::new(CurrentTerm::default());
        let (leave, leaving) = oneshot::channel();
        let connection = log.connect(LEASE / 4);
        let keeping = run(
            connection,
            lease,
            clock,
            terms.clone(),
            Arc::default(),
            || {},
            leaving,
        );
        let keeping = tokio::spawn(keeping);
        until(|| terms.load().is_some()).await;
        assert!(heard(&log).is_some());
        leave
            .send(LeaseEnding::HandedOver)
            .expect("it is kept alive");
        keeping.await.expect("it ends");
        assert_eq!((heard(&log), terms.load()), (None, None));
    }
}
