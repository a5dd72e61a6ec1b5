//! The task that keeps the lease of the node.

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;

use super::Terms;
use crate::{
    calls::Calls,
    lease::{Lease, Term},
    link::missing::MissingLinks,
    log::{Announced, Answer, Beat, Log, Unanswered},
};
use hyper_delay_engine::clock::Clock;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::node::lease_task";

/// How the lease of a node ends that ends itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaving {
    /// The node leads nothing: its heartbeat is removed, and the next process need not wait.
    HandedOver,
    /// What the node leads is taken over when its heartbeat has not changed for a lease.
    Silent,
}

/// Takes the lease, keeps it alive and publishes its term, until the future is dropped. The signs of
/// life report the missing links. Calls
/// `taken` when a term begins: then the shards have to look at it. They know its end themselves.
///
/// Returns once `leave` has told how the lease ends, and it has ended.
pub(super) async fn keep(
    log: Arc<impl Log>,
    mut lease: Lease,
    clock: Clock,
    terms: Arc<Terms>,
    missing: Arc<MissingLinks>,
    taken: impl Fn() + Send,
    leave: oneshot::Receiver<Leaving>,
) {
    tokio::select! {
        () = keep_alive(&*log, &mut lease, clock, &terms, &missing, taken) => {}
        Ok(leaving) = leave => {
            terms.publish(None);
            if leaving == Leaving::HandedOver
                && let Err(error) = log.call(lease.leaving()).await
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
    terms: &Terms,
    missing: &MissingLinks,
    taken: impl Fn() + Send,
) {
    let mut calls = Calls::default();
    let mut has_failed = false;
    let mut rival = Rival::default();
    loop {
        let now = clock.now();
        let asked = lease.request(|| calls.next(), || missing.all(), now);
        terms.publish(lease.term());
        let Some((call, request)) = asked else {
            let next = lease.next().expect("no request is under way");
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
        if rival.shows(&answer, |beat| lease.is_own(beat)) {
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
            taken();
        }
    }
}

/// Another process with the name of this node.
#[derive(Debug, Default)]
struct Rival {
    /// The heartbeat that the last announcement has found.
    beat: Option<Beat>,
    /// It keeps the lease.
    is_there: bool,
}

impl Rival {
    /// Returns whether an answer shows that there is one, and none was known: a heartbeat in the way
    /// that this process has not sent goes on. That of a process that has ended does not.
    fn shows(
        &mut self,
        answer: &Result<Answer, Unanswered>,
        is_own: impl FnOnce(Beat) -> bool,
    ) -> bool {
        let beat = match answer {
            Ok(Answer::Announced(Announced::Not(Some(beat)))) if !is_own(*beat) => beat,
            Ok(Answer::Announced(_)) => {
                *self = Self::default();
                return false;
            }
            _ => return false,
        };
        let before = self.beat.replace(*beat);
        let goes_on = |before: Beat| before.lease == beat.lease && before.revision != beat.revision;
        if !before.is_some_and(goes_on) {
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
        log::{Answer, LeaseId, Member, Request, fake_async::SharedLog},
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

    /// Returns the lease that the log has heard of last.
    fn heard(log: &SharedLog) -> Option<LeaseId> {
        log.carry_out(&Request::Join(member()));
        let Answer::Members(members) = log.carry_out(&Request::Members) else {
            panic!("no members");
        };
        members[0].beat.map(|beat| beat.lease)
    }

    #[tokio::test]
    async fn the_shards_look_when_a_term_begins() {
        let (clock, log) = (Clock::new(), log());
        let connection = log.connect(LEASE / 4);
        let lease = Lease::new(LeaseTimes::of(LEASE), member(), LeaseId(80), clock.now());
        let (terms, taken) = (Arc::new(Terms::default()), Arc::new(AtomicUsize::new(0)));
        let count = taken.clone();
        let taken_ = move || {
            count.fetch_add(1, Ordering::Relaxed);
        };
        let (_leave, leaving) = oneshot::channel();
        let keeping = keep(
            connection.clone(),
            lease,
            clock,
            terms.clone(),
            Arc::default(),
            taken_,
            leaving,
        );
        let _keeping = tokio::spawn(keeping);
        let holds = || terms.current().is_some_and(|term| term.holds(clock.now()));
        let first = Cell::new(None);
        until(|| {
            first.set(terms.current().filter(|term| term.holds(clock.now())));
            taken.load(Ordering::Relaxed) > 0 && first.get().is_some()
        })
        .await;
        let first = first.get().expect("it was so").lease;

        connection.cut(true);
        until(|| !holds()).await;
        let before = taken.load(Ordering::Relaxed);
        connection.cut(false);
        until(|| taken.load(Ordering::Relaxed) > before && holds()).await;
        let second = terms.current().expect("it holds").lease;
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
        missing.begin(&[member(), b], &"a".into());
        let (_leave, leaving) = oneshot::channel();
        let connection = log.connect(LEASE / 4);
        let terms = Arc::default();
        let keeping = keep(
            connection,
            lease,
            clock,
            terms,
            missing.clone(),
            || {},
            leaving,
        );
        let _keeping = tokio::spawn(keeping);
        log.carry_out(&Request::Join(member()));
        let told = || {
            let Answer::Members(members) = log.carry_out(&Request::Members) else {
                panic!("no members");
            };
            let links = members[0].missing_links.iter();
            links.map(|link| link.to.to_string()).collect::<Vec<_>>()
        };
        until(|| told() == ["b"]).await;
        missing.retain(|_| false);
        until(|| told().is_empty()).await;
    }

    #[tokio::test]
    async fn another_process_with_the_name_is_noted_until_it_is_gone() {
        let (clock, log) = (Clock::new(), log());
        let other = LeaseId(7);
        log.carry_out(&Request::Announce {
            member: member(),
            lease: other,
            ttl: LEASE,
            over: 0,
        });
        let lease = Lease::new(LeaseTimes::of(LEASE), member(), LeaseId(80), clock.now());
        let terms = Arc::new(Terms::default());
        let (_leave, leaving) = oneshot::channel();
        let connection = log.connect(LEASE / 4);
        let keeping = keep(
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
            log.carry_out(&Request::KeepAlive {
                member: member(),
                lease: other,
                ttl: LEASE,
                missing_links: [].into(),
            });
            terms.has_rival()
        })
        .await;
        assert_eq!(terms.current(), None);
        until(|| terms.current().is_some()).await;
        assert!(!terms.has_rival());
    }

    fn found(lease: u64, revision: u64) -> Result<Answer, Unanswered> {
        Ok(Answer::Announced(Announced::Not(Some(Beat {
            lease: LeaseId(lease),
            revision,
            ttl: LEASE,
        }))))
    }

    #[test]
    fn a_heartbeat_that_goes_on_shows_another_process_once_until_it_is_gone() {
        let mut rival = Rival::default();
        let lost = || Err(Unanswered("no answer".into()));
        let gone = || Ok(Answer::Announced(Announced::Not(None)));
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
            let shows = rival.shows(&answer, |_| false);
            assert_eq!((shows, rival.is_there), expected, "{answer:?}");
        }
    }

    #[test]
    fn heartbeats_of_this_process_show_no_other_one() {
        let (now, mut connection) = (Clock::new().now(), Calls::default());
        let mut lease = Lease::new(LeaseTimes::of(LEASE), member(), LeaseId(80), now);
        let (_, request) = lease
            .request(|| connection.next(), || [].into(), now)
            .expect("it is time");
        let Request::Announce { lease: own, .. } = request else {
            panic!("{request:?}");
        };
        let mut rival = Rival::default();
        // A sign of life whose answer was lost is carried out between the two.
        for revision in [10, 11] {
            let shows = rival.shows(&found(own.0, revision), |beat| lease.is_own(beat));
            assert!(!shows && !rival.is_there);
        }
        for (revision, expected) in [(12, false), (13, true)] {
            let shows = rival.shows(&found(own.0 + 1, revision), |beat| lease.is_own(beat));
            assert_eq!((shows, rival.is_there), (expected, expected));
        }
    }

    #[tokio::test]
    async fn the_heartbeat_is_removed_at_the_end() {
        let (clock, log) = (Clock::new(), log());
        let lease = Lease::new(LeaseTimes::of(LEASE), member(), LeaseId(80), clock.now());
        let terms = Arc::new(Terms::default());
        let (leave, leaving) = oneshot::channel();
        let connection = log.connect(LEASE / 4);
        let keeping = keep(
            connection,
            lease,
            clock,
            terms.clone(),
            Arc::default(),
            || {},
            leaving,
        );
        let keeping = tokio::spawn(keeping);
        until(|| terms.current().is_some()).await;
        assert!(heard(&log).is_some());
        leave.send(Leaving::HandedOver).expect("it is kept alive");
        keeping.await.expect("it ends");
        assert_eq!((heard(&log), terms.current()), (None, None));
    }
}
