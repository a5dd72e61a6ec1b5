use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;

use super::{Memory, TTL, member};
use crate::{
    ShardId,
    admin::Admin,
    log::{LeaseId, LogRequest, MissingLink},
};

/// Nodes a and b lead a shard each.
async fn led() -> Admin<Memory> {
    let admin = Admin::of(&["a", "b"]).await;
    admin.announce("a", 1, 0);
    admin.announce("b", 2, 0);
    admin.lead(0, "a", 1);
    admin.lead(1, "b", 2);
    admin
}

const BOTH: [(&str, u64); 2] = [("a", 1), ("b", 2)];

#[tokio::test(start_paused = true)]
async fn well_cluster_has_no_problems_and_is_seen_soon() {
    let admin = led().await;
    let begun = Instant::now();
    let status = admin.alive(&BOTH, admin.status()).await.unwrap();
    assert_eq!(status.problems(), [""; 0]);
    assert_eq!(status.notes(), [""; 0]);
    assert!(begun.elapsed() <= TTL / 2);
}

#[tokio::test(start_paused = true)]
async fn every_figure_is_told() {
    let admin = Admin::of(&["a", "b", "c"]).await;
    admin.announce("a", 1, 0);
    admin.announce("b", 2, 0);
    let epoch = admin.lead(0, "a", 1).epoch;
    admin.report(0, "a", 1, 0);
    let status = admin.alive(&BOTH, admin.status()).await.unwrap();
    let genesis = admin.log.log.lock().unwrap().shard(ShardId(0)).journal[&0].len();
    let shown = serde_json::to_value(&status).unwrap();
    let node = |name: &str, state: &str, lease: Option<u64>| {
        json!({
            "node": name,
            "address": member(name).address,
            "state": state,
            "lease_ms": lease,
            "missing_links": [],
        })
    };
    assert_eq!(
        shown,
        json!({
            "cluster": format!("{:032x}", status.charter.cluster),
            "nodes": [
                node("a", "alive", Some(8_000)),
                node("b", "alive", Some(8_000)),
                node("c", "left", None),
            ],
            "shards": [
                {
                    "shard": 0,
                    "leader": {"node": "a", "epoch": epoch, "alive": true},
                    "first": 0,
                    "last": 0,
                    "bytes": genesis,
                    "synced": {"a": 0},
                    "error": null,
                },
                {
                    "shard": 1,
                    "leader": null,
                    "first": 0,
                    "last": 0,
                    "bytes": genesis,
                    "synced": {},
                    "error": null,
                },
            ],
        })
    );
    assert_eq!(
        status.problems(),
        [
            "node c does not run: start it, or remove it with `hyper-delay cluster remove c`",
            "no living leader for shard 1: a node that is alive takes it over after a lease; if \
             that lasts, look at the logs of the nodes",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn silent_node_and_what_it_leads_are_problems() {
    let admin = led().await;
    let begun = Instant::now();
    let status = admin.alive(&BOTH[..1], admin.status()).await.unwrap();
    assert!(begun.elapsed() >= TTL && begun.elapsed() < TTL * 2);
    let problems = status.problems();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("node b is silent: start it, or remove it"));
    assert!(problems[1].starts_with("no living leader for shard 1: "));
}

fn missing(to: &str, versions_differ: bool) -> MissingLink {
    MissingLink {
        to: to.into(),
        why: "the reason".into(),
        versions_differ,
    }
}

#[tokio::test(start_paused = true)]
async fn missing_links_between_nodes_that_live_are_problems() {
    let admin = led().await;
    // What node b says.
    let status_with = async |of_b: &[MissingLink]| {
        let missing = |node: &str| match node {
            "b" => of_b.into(),
            _ => Arc::default(),
        };
        let status = admin.alive_without(&BOTH, missing, admin.status());
        status.await.unwrap()
    };
    let status = status_with(&[missing("a", false)]).await;
    let problem = "node b has no link to node a; node b says: the reason";
    assert_eq!(status.problems(), [problem]);
    assert_eq!(status.notes(), [""; 0]);
    let shown = serde_json::to_value(&status.nodes[1]).unwrap();
    let link = json!({"to": "a", "why": "the reason", "versions_differ": false});
    assert_eq!(shown["missing_links"], json!([link]));

    let status = status_with(&[missing("a", true)]).await;
    assert_eq!(status.problems(), [""; 0], "an upgrade continues");
    let note = "node b has no link to node a before its upgrade: the reason";
    assert_eq!(status.notes(), [note]);

    // A link to a node that does not run is a consequence, and so is one of it.
    admin.carry_out(&LogRequest::Join(member("c")));
    let gone = "node c does not run: start it, or remove it with `hyper-delay cluster remove c`";
    let status = status_with(&[missing("a", false), missing("c", false)]).await;
    assert_eq!(status.problems(), [gone, problem]);
    admin.announce("c", 3, 0);
    admin.carry_out(&LogRequest::KeepAlive {
        member: member("c"),
        lease: LeaseId(3),
        ttl: TTL,
        missing_links: [missing("a", false), missing("b", true)].into(),
    });
    let status = status_with(&[]).await;
    let problems = status.problems();
    assert_eq!(
        (problems.len(), status.notes().len()),
        (1, 0),
        "{problems:?}"
    );
    assert!(problems[0].starts_with("node c is silent: "));
}

#[tokio::test(start_paused = true)]
async fn leader_of_an_earlier_process_does_not_live() {
    let admin = led().await;
    admin.carry_out(&LogRequest::Leave {
        node: "b".into(),
        lease: LeaseId(2),
    });
    admin.announce("b", 3, 0);
    let both = [("a", 1), ("b", 3)];
    let status = admin.alive(&both, admin.status()).await.unwrap();
    let problems = status.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("no living leader for shard 1: "));
}

#[tokio::test(start_paused = true)]
async fn node_that_needs_a_snapshot_is_noted() {
    let admin = led().await;
    let epoch = admin.status().await.unwrap().shards[0]
        .leader
        .clone()
        .unwrap()
        .epoch;
    let shard = ShardId(0);
    let fence = crate::log::Fence {
        shard,
        epoch,
        lease: LeaseId(1),
    };
    for seq in 1..=9 {
        admin.append(fence, seq, b"entry");
    }
    admin.report(0, "a", 1, 9);
    admin.report(0, "b", 2, 4);
    admin.carry_out(&LogRequest::Trim {
        shard,
        from: 0,
        below: 5,
    });
    let status = || async { admin.alive(&BOTH, admin.status()).await.unwrap() };
    assert_eq!(status().await.notes(), [""; 0], "entry 5 is there");
    assert_eq!(
        status().await.shards[0].bytes,
        None,
        "the entries are no real ones"
    );
    admin.carry_out(&LogRequest::Trim {
        shard,
        from: 0,
        below: 6,
    });
    assert_eq!(
        status().await.notes(),
        [
            "node b lacks entries of shard 0 that the journal does not have any more: it needs a \
             snapshot from another node"
        ]
    );
    assert_eq!(status().await.problems(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn damaged_shard_does_not_hide_the_others() {
    let admin = led().await;
    admin.log.damaged.set(ShardId(0)).unwrap();
    let status = admin.alive(&BOTH, admin.status()).await.unwrap();
    assert_eq!(
        status.problems(),
        ["shard 0: etcd at http://x: etcd lacks it: restore etcd"]
    );
    assert_eq!(status.notes(), [""; 0]);
    let [damaged, well] = &status.shards[..] else {
        panic!("{status:?}");
    };
    assert_eq!(
        (damaged.first, damaged.last, &damaged.leader),
        (None, None, &None)
    );
    assert_eq!((well.first, well.last), (Some(0), Some(0)));
    let error = admin.tail(ShardId(0), 0).await.unwrap_err().to_string();
    assert_eq!(
        error, "etcd at http://x: etcd lacks it: restore etcd",
        "without a cure that does not help"
    );
}

#[tokio::test]
async fn without_a_cluster_the_cure_is_told() {
    let error = Admin::new(Memory::default()).status().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "etcd has no cluster: make one with `hyper-delay cluster join`; if there was one, keep every \
         data_dir, and read \"etcd is lost\" in docs/cluster.md first"
    );
}
