//! Nodes with threads, clocks and disks, on a log in memory. Nothing here depends on how long it
//! takes.

mod disk;
mod fixture;
mod flipped;
mod leadership_end;
mod link;
#[cfg(target_os = "linux")]
mod memory;
mod requests;
mod running_node;
mod snapshots;
mod takeover;

use fixture::{Cluster, SHARDS};

use crate::log::LogRequest;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_leaders_acknowledge_is_applied_on_all_nodes() {
    let mut cluster = Cluster::new();
    cluster.start_all().await;
    for number in 0..40 {
        cluster.schedule(number).await;
    }
    cluster.all_have_everything().await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_shard_has_a_leader_and_all_nodes_know_it() {
    let mut cluster = Cluster::new();
    cluster.start_all().await;
    cluster
        .until("all nodes know the leaders", |cluster| {
            (0..SHARDS).all(|shard| {
                let leaders: Vec<_> = cluster
                    .running()
                    .map(|node| node.leader_of(shard))
                    .collect();
                leaders.iter().all(|it| it.is_some() && *it == leaders[0])
            })
        })
        .await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_with_a_wrong_clock_leads_nothing_until_it_is_right_again() {
    let mut cluster = Cluster::new();
    cluster.start_all().await;
    cluster.all_lead().await;
    cluster.node(0).clock_is_off(true);
    cluster
        .until("the others lead", |cluster| {
            let others = cluster.running().skip(1);
            !cluster.node(0).leads_any() && others.map(|it| it.leads()).sum::<usize>() == SHARDS
        })
        .await;
    cluster.schedule(1).await;
    // With all others gone, only a right clock lets it lead.
    cluster.all_have_everything().await;
    cluster.stop(1).await;
    cluster.stop(2).await;
    cluster
        .until("it knows that no node leads", |cluster| {
            (0..SHARDS).all(|shard| cluster.node(0).leader_of(shard).is_none())
        })
        .await;
    // The clock becomes right for one shard. By the time it leads, the others would lead, too.
    cluster.node(0).clock_is_off_for(0, false);
    cluster
        .until("one shard is led", |cluster| cluster.node(0).leads_any())
        .await;
    assert!(!cluster.node(0).fences.keys().any(|shard| shard.0 > 0));
    cluster.node(0).clock_is_off(false);
    cluster.all_lead().await;
    cluster.schedule(2).await;
    cluster.stop(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_members_lead() {
    let mut cluster = Cluster::new();
    for node in ["b", "c"] {
        cluster.log.carry_out(&LogRequest::Remove(node.into()));
    }
    cluster.members = &["a"];
    cluster.start_all().await;
    cluster
        .until("the only member leads", |cluster| {
            cluster.node(0).leads() == SHARDS
        })
        .await;
    cluster.schedule(0).await;
    cluster.log.carry_out(&LogRequest::Join(fixture::member(1)));
    cluster.log.carry_out(&LogRequest::Remove("a".into()));
    cluster
        .until("the new member leads", |cluster| {
            cluster.node(1).leads() == SHARDS && !cluster.node(0).leads_any()
        })
        .await;
    for number in 0..SHARDS {
        cluster.schedule(number).await;
    }
    // One that was removed still follows, and one that never was a member does not.
    cluster.stop(2).await;
    cluster.all_have_everything().await;
    cluster.stop(0).await;
    cluster.stop(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_of_a_thread_ends_the_node() {
    let mut cluster = Cluster::new();
    cluster.start(0).await;
    cluster.panics(0);
    let mut node = cluster.take(0);
    let ended = tokio::time::timeout(fixture::PATIENCE, node.ended()).await;
    let error = ended.expect("it ends").to_string();
    assert!(error.contains("of the node has panicked"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_stops_says_why_and_the_others_go_on() {
    let mut cluster = Cluster::new();
    cluster.start_all().await;
    cluster.all_lead().await;
    cluster.damage_journal(1).await;
    cluster
        .until("the shard has stopped", |cluster| {
            cluster.running().all(|node| node.has_stopped(1))
        })
        .await;
    let why = cluster.node(0).why(1);
    assert!(why.contains("of the journal"), "{why}");
    for number in (0..20).filter(|number| number % SHARDS != 1) {
        cluster.schedule(number).await;
    }
    cluster.stop_all().await;
}
