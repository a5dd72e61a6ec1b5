//! What becomes of a leadership whose node lives, when etcd's leader is stopped for longer than a
//! lease lasts, and continues. A lease of etcd ends then, before 3.4.31 and 3.5.13.

use std::time::{Duration, Instant};

use super::{failures::answer, process::Processes};
use crate::log::{
    AppendOutcome, LeaderAndHeartbeat, LeaseId, LogAnswer, LogRequest, SilentHeartbeat, Takeover,
    contract::{LogClient, SHARD, entry, member},
    etcd::Etcd,
};

const TTL: Duration = Duration::from_secs(2);

/// Sends a heartbeat, and returns the leader afterwards.
async fn keep_alive(log: &Etcd, lease: LeaseId) -> LeaderAndHeartbeat {
    let alive = LogRequest::KeepAlive {
        member: member("a"),
        lease,
        ttl: TTL,
        missing_links: [].into(),
    };
    let alive = answer(log, &alive).await;
    assert_eq!(alive, LogAnswer::Alive(true));
    let tail = LogRequest::Tail {
        shard: SHARD,
        from: 0,
        node: "b".into(),
    };
    match answer(log, &tail).await {
        LogAnswer::Tail(tail) => tail.leader.expect("a node leads"),
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
        LogClient::announced(&log, "a").await,
        LogClient::announced(&log, "b").await,
    );
    let fence = a.fence().await;
    etcd.stop(leader);
    let (begin, mut is_stopped) = (Instant::now(), true);
    let mut seen = keep_alive(&log, a.lease).await;
    while is_stopped || begin.elapsed() < 4 * TTL {
        if is_stopped && begin.elapsed() > 2 * TTL {
            etcd.go_on(leader);
            is_stopped = false;
        }
        tokio::time::sleep(TTL / 40).await;
        let led = keep_alive(&log, a.lease).await;
        assert_eq!(led.leader.epoch, fence.epoch);
        let (before, after) = (seen.heartbeat.expect("one"), led.heartbeat.expect("one"));
        assert!(before.revision < after.revision);
        // A follower that has missed the last heartbeat does not take over.
        let over = Takeover {
            epoch: fence.epoch,
            silence: Some(SilentHeartbeat {
                node: "a".into(),
                revision: before.revision,
            }),
        };
        let lead = LogRequest::Lead {
            shard: SHARD,
            lease: b.lease,
            member: member("b"),
            takeover: Some(over),
        };
        assert_eq!(
            answer(&log, &lead).await,
            LogAnswer::Leader(Some(led.clone()))
        );
        seen = led;
    }
    let append = LogRequest::Append {
        fence,
        seq: 1,
        entry: entry("it"),
    };
    let appended = answer(&log, &append).await;
    assert_eq!(appended, LogAnswer::Appended(AppendOutcome::Done));
    // The member that was stopped sees the same.
    let log = etcd.log_at(leader);
    assert_eq!(keep_alive(&log, a.lease).await.leader.epoch, fence.epoch);
}
