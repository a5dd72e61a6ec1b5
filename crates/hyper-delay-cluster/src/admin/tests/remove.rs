use tokio::time::Instant;

use super::{Memory, TTL, member};
use crate::{
    ShardId,
    admin::Admin,
    log::{LeaseId, LogAnswer, LogRequest},
};

async fn names(admin: &Admin<Memory>) -> Vec<String> {
    let members = admin.members().await.unwrap();
    members
        .iter()
        .map(|it| it.member.node.to_string())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn node_that_has_left_is_removed_at_once() {
    let admin = Admin::of(&["a", "b", "c"]).await;
    let begun = Instant::now();
    assert_eq!(admin.remove("b", false).await.unwrap(), 2);
    assert_eq!(names(&admin).await, ["a", "c"]);
    assert_eq!(begun.elapsed().as_nanos(), 0);
}

#[tokio::test(start_paused = true)]
async fn silent_node_is_removed_after_its_lease() {
    let admin = Admin::of(&["a", "b"]).await;
    admin.announce("b", 7, 0);
    let begun = Instant::now();
    assert_eq!(admin.remove("b", false).await.unwrap(), 1);
    assert!(begun.elapsed() >= TTL && begun.elapsed() < TTL * 2);
}

#[tokio::test(start_paused = true)]
async fn node_that_lives_is_removed_by_force_only() {
    let admin = Admin::of(&["a", "b"]).await;
    admin.announce("b", 7, 0);
    let error = admin.alive(&[("b", 7)], admin.remove("b", false)).await;
    let error = error.unwrap_err().to_string();
    assert_eq!(
        error,
        "node b is alive: stop it, then remove it, or give --force"
    );
    assert_eq!(names(&admin).await, ["a", "b"]);
    assert_eq!(admin.remove("b", true).await.unwrap(), 1);
    assert_eq!(names(&admin).await, ["a"]);
}

#[tokio::test]
async fn only_member_stays() {
    let admin = Admin::of(&["a"]).await;
    for force in [false, true] {
        let error = admin.remove("a", force).await.unwrap_err().to_string();
        assert!(
            error.starts_with("node a is the only member: add another"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn stranger_is_named() {
    let error = Admin::of(&["a", "b"]).await.remove("x", true).await;
    assert_eq!(
        error.unwrap_err().to_string(),
        "node \"x\" is no member; the members are: a, b"
    );
    let error = Admin::new(Memory::default()).remove("x", true).await;
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("etcd has no cluster: make one"),
        "{error}"
    );
}

/// Nodes a and b have synced ten entries, and the first eight are gone from the journal of shard 1.
async fn trimmed() -> Admin<Memory> {
    let admin = Admin::of(&["a", "b", "c"]).await;
    for (name, lease) in [("a", 1), ("b", 2), ("c", 3)] {
        admin.announce(name, lease, 0);
    }
    let fence = admin.lead(1, "a", 1);
    for seq in 1..=10 {
        admin.append(fence, seq, b"entry");
    }
    admin.report(1, "a", 1, 10);
    admin.report(1, "b", 2, 10);
    admin.report(1, "c", 3, 6);
    let shard = ShardId(1);
    admin.carry_out(&LogRequest::Trim {
        shard,
        from: 0,
        below: 8,
    });
    admin
}

#[tokio::test(start_paused = true)]
async fn last_node_with_entries_that_the_journal_lacks_is_kept() {
    let admin = trimmed().await;
    assert_eq!(admin.remove("a", false).await.unwrap(), 2);
    let error = admin.remove("b", false).await.unwrap_err().to_string();
    assert!(
        error.starts_with("no other member has synced the entries of shard 1 before 8"),
        "{error}"
    );
    assert_eq!(names(&admin).await, ["b", "c"]);

    // The next entry that it needs is the first one of the journal.
    admin.report(1, "c", 3, 7);
    assert_eq!(admin.remove("b", false).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn force_removes_a_needed_node() {
    let admin = trimmed().await;
    assert_eq!(admin.remove("a", true).await.unwrap(), 2);
    assert_eq!(admin.remove("b", true).await.unwrap(), 1);
    assert_eq!(names(&admin).await, ["c"]);
}

#[tokio::test]
async fn what_a_removed_node_has_reported_is_forgotten() {
    let admin = Admin::of(&["a", "b"]).await;
    admin.announce("b", 7, 0);
    admin.report(0, "b", 7, 5);
    admin.carry_out(&LogRequest::Leave {
        node: member("b").node,
        lease: LeaseId(7),
    });
    admin.remove("b", false).await.unwrap();
    let reports = admin.carry_out(&LogRequest::Reports(ShardId(0)));
    assert_eq!(reports, LogAnswer::Reports(Vec::new()));
}
