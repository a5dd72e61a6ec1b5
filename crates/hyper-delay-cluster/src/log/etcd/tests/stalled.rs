//! What becomes of a leadership whose node lives, when etcd's leader is stopped for longer than a
//! lease lasts, and goes on. A lease of etcd ends then, before 3.4.31 and 3.5.13.

use std::time::{Duration, Instant};

use super::{failures::answer, process::Processes};
use crate::log::{
    Answer, Appended, LeaseId, Led, Over, Request, Silence,
    etcd::Etcd,
    facts::{Node, SHARD, entry, member},
};

const TTL: Duration = Duration::from_secs(2);

/// Gives a sign of life, and returns who leads afterwards.
async fn beat(log: &Etcd, lease: LeaseId) -> Led {
    let alive = Request::KeepAlive {
        member: member("a"),
        lease,
        ttl: TTL,
        missing_links: [].into(),
    };
    let alive = answer(log, &alive).await;
    assert_eq!(alive, Answer::Alive(true));
    let tail = Request::Tail {
        shard: SHARD,
        from: 0,
        node: "b".into(),
    };
    match answer(log, &tail).await {
        Answer::Tail(tail) => tail.led.expect("a node leads"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn leadership_outlives_a_stalled_leader_of_etcd() {
    let Some(etcd) = Processes::three() else {
        return;
    };
    let leader = etcd.leader().await;
    let log = etcd.log_at((leader + 1) % 3);
    let (a, b) = (
        Node::announced(&log, "a").await,
        Node::announced(&log, "b").await,
    );
    let fence = a.fence().await;
    etcd.stop(leader);
    let (begin, mut is_stopped) = (Instant::now(), true);
    let mut seen = beat(&log, a.lease).await;
    while is_stopped || begin.elapsed() < 4 * TTL {
        if is_stopped && begin.elapsed() > 2 * TTL {
            etcd.go_on(leader);
            is_stopped = false;
        }
        tokio::time::sleep(TTL / 40).await;
        let led = beat(&log, a.lease).await;
        assert_eq!(led.leader.epoch, fence.epoch);
        let (before, after) = (seen.beat.expect("one"), led.beat.expect("one"));
        assert!(before.revision < after.revision);
        // A follower that has missed the last sign of life does not take over.
        let over = Over {
            epoch: fence.epoch,
            silence: Some(Silence {
                node: "a".into(),
                revision: before.revision,
            }),
        };
        let lead = Request::Lead {
            shard: SHARD,
            lease: b.lease,
            member: member("b"),
            over: Some(over),
        };
        assert_eq!(answer(&log, &lead).await, Answer::Leads(Some(led.clone())));
        seen = led;
    }
    let append = Request::Append {
        fence,
        seq: 1,
        entry: entry("it"),
    };
    let appended = answer(&log, &append).await;
    assert_eq!(appended, Answer::Appended(Appended::Done));
    // The member that was stopped sees the same.
    let log = etcd.log_at(leader);
    assert_eq!(beat(&log, a.lease).await.leader.epoch, fence.epoch);
}
