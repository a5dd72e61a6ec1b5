//! What people see with `etcdctl`, and what happens when they write something.

use std::time::Duration;

use hyper_delay_etcd::{Delete, Get, KeyValue, Keys, Put};

use super::process::Processes;
use crate::{
    Charter, ShardId,
    log::{
        AppendOutcome, LeaseId, Log, LogAnswer, LogRequest, UnansweredReason,
        contract::{self, CHARTER, LogClient, SHARD, TTL, entry, member},
    },
};
use hyper_delay_store::record::sharded_number::MAX_SHARDS;

async fn values(etcd: &Processes) -> Vec<String> {
    let all = Get::new(Keys::prefix("/"));
    let read = etcd.client().await.get(all).await.unwrap();
    let shown = |kv: &KeyValue| {
        let [key, value] = [kv.key(), kv.value()].map(|bytes| String::from_utf8_lossy(bytes));
        format!("{key} {value}")
    };
    let values = read.kvs().iter().map(shown);
    values
        .filter(|it| !it.ends_with(" ") && !it.contains("/j/"))
        .collect()
}

#[tokio::test]
async fn values_can_be_read_by_people() {
    let Some(etcd) = Processes::one() else { return };
    let log = etcd.log();
    let mut a = LogClient::new(&log, "a").await;
    a.lease = LeaseId(0xab12);
    a.join().await;
    a.announce(0).await;
    a.keep_alive().await;
    a.report(41).await;
    let fence = a.fence().await;
    assert_eq!(a.append(fence, 1, &entry("it")).await, AppendOutcome::Done);
    assert_eq!(
        values(&etcd).await,
        [
            "/hd/00000/at/a 41",
            r#"/hd/00000/lead {"node":"a","address":"a.example:7000","lease":"000000000000ab12"}"#,
            r#"/hd/alive/a {"lease":"000000000000ab12","ttl_ms":2500,"address":"a.example:7000"}"#,
            r#"/hd/charter {"cluster":"123456789abcdef0123456789abcdef0","shards":3}"#,
            r#"/hd/nodes/a {"address":"a.example:7000"}"#,
        ]
    );
}

#[tokio::test]
async fn report_from_before_a_node_was_a_member_is_removed_when_it_joins() {
    let Some(etcd) = Processes::one() else { return };
    let log = etcd.log();
    let a = LogClient::announced(&log, "a").await;
    let client = etcd.client().await;
    // As it was left by a version that noted reports of every node.
    client.put(Put::new("/hd/00000/at/a", "41")).await.unwrap();
    assert_eq!(a.reports().await, [("a".into(), 41)]);
    a.join().await;
    assert_eq!(a.reports().await, []);
}

#[tokio::test]
async fn value_that_no_node_writes_is_named_with_its_cure() {
    let Some(etcd) = Processes::one() else { return };
    let log = etcd.log();
    let a = LogClient::announced(&log, "a").await;
    let tail = LogRequest::Tail {
        shard: SHARD,
        from: 0,
        node: "a".into(),
    };
    let lead = LogRequest::Lead {
        shard: SHARD,
        lease: a.lease,
        member: member("a"),
        takeover: None,
    };
    let announce = LogRequest::Announce {
        member: member("c"),
        lease: a.lease,
        ttl: TTL,
        replaces: 0,
    };
    let cases = [
        ("/hd/00000/lead", "[]", vec![lead, tail.clone()]),
        ("/hd/alive/c", r#"{"lease":"x"}"#, vec![announce]),
        (
            "/hd/00000/at/a",
            "-1",
            vec![tail.clone(), LogRequest::Reports(SHARD)],
        ),
        ("/hd/nodes/b", "b:1", vec![LogRequest::Members]),
        (
            "/hd/00000/j/1",
            "it",
            vec![LogRequest::First {
                shard: SHARD,
                from: 0,
            }],
        ),
        (
            "/hd/charter",
            r#"{"cluster":"xyz","shards":3}"#,
            vec![
                LogRequest::Charter,
                LogRequest::CreateCluster(CHARTER),
                LogRequest::Remove("a".into()),
            ],
        ),
    ];
    let client = etcd.client().await;
    for (key, value, requests) in cases {
        client.put(Put::new(key, value)).await.unwrap();
        if key.contains("/j/") {
            client
                .delete(Delete::new("/hd/00000/j/00000000000000000000"))
                .await
                .unwrap();
        }
        for request in requests {
            let error = log.call(request.clone()).await.unwrap_err().to_string();
            let said = format!("etcd's key {key} has the value {value:?}, which no node writes: ");
            let (_, cure) = error.split_once(&said).unwrap_or_else(|| panic!("{error}"));
            assert!(
                ["delete it", "restore", "stop its node"]
                    .iter()
                    .any(|begin| cure.starts_with(begin)),
                "{error}"
            );
        }
        client.delete(Delete::new(key)).await.unwrap();
    }
}

#[tokio::test]
async fn watch_goes_on_after_a_value_that_no_node_writes() {
    let Some(etcd) = Processes::one() else { return };
    let log = etcd.log();
    // Without a charter, other keys are those of a cluster that was lost.
    LogClient::new(&log, "b").await;
    let client = etcd.client().await;
    let bad = async {
        for _ in 0.. {
            for key in ["/hd/00000/lead", "/hd/00000/j/1", "/hd/x", "/hd/00000/at/b"] {
                client.put(Put::new(key, "{")).await.unwrap();
                client.delete(Delete::new(key)).await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = bad => {}
        () = contract::tell_members(&log) => {}
    }
}

#[tokio::test]
async fn journals_without_a_charter_are_a_damaged_cluster() {
    let Some(etcd) = Processes::one() else { return };
    let log = etcd.log();
    assert_eq!(
        log.call(LogRequest::Charter).await.unwrap(),
        LogAnswer::Charter(None)
    );
    LogClient::new(&log, "a").await;
    let client = etcd.client().await;
    client.delete(Delete::new("/hd/charter")).await.unwrap();
    for request in [LogRequest::CreateCluster(CHARTER), LogRequest::Charter] {
        let error = log.call(request).await.unwrap_err();
        assert!(matches!(error.0, UnansweredReason::Damage(_)), "{error:?}");
        let error = error.to_string();
        assert!(
            error.contains("etcd lacks /hd/charter, and has other keys of the cluster"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn missing_journal_is_named() {
    let Some(etcd) = Processes::one() else { return };
    let log = etcd.log();
    for request in [
        LogRequest::First {
            shard: ShardId(2),
            from: 0,
        },
        LogRequest::Tail {
            shard: ShardId(2),
            from: 5,
            node: "a".into(),
        },
    ] {
        let error = log.call(request).await.unwrap_err().to_string();
        assert!(
            error.contains("etcd lacks /hd/00002/j/00000000000000000000"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn cluster_has_up_to_32_shards() {
    let Some(etcd) = Processes::one() else { return };
    let log = etcd.log();
    for shards in [0, MAX_SHARDS + 1] {
        let charter = Charter { shards, ..CHARTER };
        let error = log
            .call(LogRequest::CreateCluster(charter))
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains("give 1 to 32"), "{error}");
    }
    let most = Charter {
        shards: MAX_SHARDS,
        ..CHARTER
    };
    let founded = log.call(LogRequest::CreateCluster(most)).await.unwrap();
    assert_eq!(founded, LogAnswer::ClusterCreated(most));
    let removed = log.call(LogRequest::Remove("a".into())).await.unwrap();
    assert_eq!(removed, LogAnswer::Done, "one transaction for all shards");
}

/// Numbers whose digits are close to each other are different leases.
#[tokio::test]
async fn heartbeat_is_of_one_lease_only() {
    let Some(etcd) = Processes::one() else { return };
    let log = etcd.log();
    let leases = [0, 1, 0xf, 0x10, 0x11, u64::MAX >> 1, u64::MAX - 1, u64::MAX];
    for lease in leases.map(LeaseId) {
        let mut a = LogClient::new(&log, "a").await;
        a.lease = lease;
        a.announce(0).await;
        for other in leases.map(LeaseId) {
            a.lease = other;
            assert_eq!(a.keep_alive().await, other == lease, "{other:?} {lease:?}");
        }
        a.lease = lease;
        a.leave().await;
    }
}
