use std::sync::Arc;

use super::{Memory, TTL, member};
use crate::{
    ShardId,
    admin::Admin,
    import::{JournalStart, NewShardStore, split},
    log::{LeaseId, LogAnswer, LogRequest},
    replica::Replica,
};
use hyper_delay_store::{Batch, DiskSpace, Durability, Space, Store as _, fake::Fake};

/// The beginnings after the import of a store in which this route is paused.
async fn imported(admin: &Admin<Memory>, paused: &str) -> (Vec<JournalStart>, Vec<Arc<Fake>>) {
    let source = Fake::default();
    let mut batch = Batch::new();
    batch.put(
        Space::Meta,
        hyper_delay_store::record::key::paused(paused),
        *b"\x01",
    );
    source.commit(batch, Durability::Written).unwrap();
    let charter = admin.cluster().await.unwrap();
    let stores: Vec<Arc<Fake>> = (0..charter.shards).map(|_| Arc::default()).collect();
    let mut targets: Vec<_> = stores.iter().cloned().map(NewShardStore::new).collect();
    let imported = split(&source, &mut targets, charter).unwrap();
    (imported.journal_starts, stores)
}

#[tokio::test(start_paused = true)]
async fn node_without_a_store_lacks_entries_and_the_one_that_imported_does_not() {
    let admin = Admin::of(&["a", "b"]).await;
    let (beginnings, stores) = imported(&admin, "route").await;
    // A second time, as after an interruption, changes nothing.
    for _ in 0..2 {
        admin
            .start_journals(&member("a"), &beginnings)
            .await
            .unwrap();
        let charter = admin.cluster().await.unwrap();
        for (number, store) in (0..).zip(&stores) {
            let shard = ShardId(number);
            let tail = admin.tail(shard, 0).await.unwrap();
            assert_eq!((tail.first, tail.last, tail.leader), (2, 2, None));
            let mut replica = Replica::open(store.clone(), charter, shard).unwrap();
            assert_eq!(
                replica.applied().hash,
                crate::entry::hash(&tail.entries[0].1)
            );
            assert!(
                replica
                    .apply(2, &tail.entries[0].1, DiskSpace::UNLIMITED)
                    .is_err(),
                "it is applied"
            );
            let mut empty = Replica::open(Arc::new(Fake::default()), charter, shard).unwrap();
            assert!(
                empty
                    .apply(2, &tail.entries[0].1, DiskSpace::UNLIMITED)
                    .is_err(),
                "entry 1 is gone"
            );
            let reports = admin.reports(shard).await.unwrap();
            assert_eq!(reports, [("a".into(), 2)]);
        }
        let members = admin.members().await.unwrap();
        assert!(members.iter().all(|it| it.heartbeat.is_none()));
    }
}

#[tokio::test(start_paused = true)]
async fn import_that_ended_halfway_is_continued() {
    let admin = Admin::of(&["a"]).await;
    let (beginnings, _) = imported(&admin, "route").await;
    // It died as the leader, after the first entry of shard 1.
    admin.announce("a", 7, 0);
    let fence = admin.lead(1, "a", 7);
    admin.append(fence, 1, &beginnings[1].entries[0].bytes);
    admin
        .start_journals(&member("a"), &beginnings)
        .await
        .unwrap();
    for shard in [0, 1] {
        let tail = admin.tail(ShardId(shard), 0).await.unwrap();
        assert_eq!((tail.first, tail.last), (2, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn second_import_with_other_tasks_is_refused() {
    let admin = Admin::of(&["a", "b"]).await;
    let (beginnings, _) = imported(&admin, "route").await;
    admin
        .start_journals(&member("a"), &beginnings)
        .await
        .unwrap();
    let (others, _) = imported(&admin, "another").await;
    let before = admin.carry_out(&LogRequest::Members);
    for error in [
        admin.check_journals(&others).await.unwrap_err(),
        admin
            .start_journals(&member("b"), &others)
            .await
            .unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(error.contains("the journal of shard"), "{error}");
    }
    assert_eq!(
        admin.carry_out(&LogRequest::Members),
        before,
        "nothing was announced"
    );
    admin.check_journals(&beginnings).await.unwrap();
    // Another node can bring the same tasks.
    admin
        .start_journals(&member("b"), &beginnings)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn running_nodes_strangers_and_used_clusters_are_refused() {
    let admin = Admin::of(&["a", "b"]).await;
    let (beginnings, _) = imported(&admin, "route").await;
    let error = admin
        .start_journals(&member("x"), &beginnings)
        .await
        .unwrap_err();
    assert!(
        error.to_string().starts_with("node \"x\" is no member"),
        "{error}"
    );

    admin.announce("b", 2, 0);
    let a = member("a");
    let begun = admin
        .alive(&[("b", 2)], admin.start_journals(&a, &beginnings))
        .await;
    let error = begun.unwrap_err().to_string();
    assert!(error.starts_with("node b is running: stop"), "{error}");
    let heartbeat = admin.carry_out(&LogRequest::KeepAlive {
        member: a.clone(),
        lease: LeaseId(0),
        ttl: TTL,
        missing_links: [].into(),
    });
    assert_eq!(heartbeat, LogAnswer::Alive(false), "nothing was announced");

    let fence = admin.lead(0, "b", 2);
    for seq in 1..=3 {
        admin.append(fence, seq, b"entry");
    }
    let error = admin.check_can_import(&a).await.unwrap_err().to_string();
    assert!(
        error.starts_with("the journal of shard 0 has entry 3"),
        "{error}"
    );
}
