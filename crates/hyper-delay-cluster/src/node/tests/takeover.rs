//! What is acknowledged survives the end of its leader.

use std::time::Duration;

use super::{fixture::Cluster, running_node::RunningNode};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_node_leads_after_a_graceful_stop() {
    let mut cluster = Cluster::new();
    cluster.start_all().await;
    for round in 0..3 {
        for number in 0..10 {
            cluster.schedule(round * 10 + number).await;
        }
        let leader = cluster.leader_of(0).await;
        cluster.stop(leader).await;
        // Its leaderships have ended with it, and not by the end of a lease.
        cluster.schedule(1_000 + round).await;
        cluster.start(leader).await;
    }
    cluster.all_have_everything().await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graceful_stop_finishes_what_was_asked_for() {
    let mut cluster = Cluster::new();
    // What is asked for at the end of a lease is refused.
    cluster.lease = Duration::from_secs(10);
    cluster.start(0).await;
    cluster.all_lead().await;
    let asked = cluster.ask_for(0..200);
    cluster.stop(0).await;
    assert!(cluster.has_acknowledged(&asked));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_node_leads_while_one_ends_that_cannot_hand_over() {
    let mut cluster = Cluster::new();
    cluster.start_all().await;
    cluster.all_lead().await;
    let leader = cluster.leader_of(0).await;
    let RunningNode {
        node,
        connection,
        notices: _notices,
        link: _link,
        ..
    } = cluster.take_out(leader);
    connection.only_heartbeats();
    // `stop` waits until the data directory is not in use.
    let used = node.directory.upgrade();
    let stopping = tokio::spawn(node.stop());
    cluster.schedule(0).await;
    assert!(!stopping.is_finished());
    drop(used);
    stopping.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_node_leads_after_a_crash() {
    let mut cluster = Cluster::new();
    cluster.start_all().await;
    for round in 0..3 {
        for number in 0..10 {
            cluster.schedule(round * 10 + number).await;
        }
        let leader = cluster.leader_of(0).await;
        cluster.crash(leader);
        cluster.schedule(1_000 + round).await;
        cluster.start(leader).await;
    }
    cluster.all_have_everything().await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_node_leads_when_the_leader_is_cut_off_from_the_log() {
    let mut cluster = Cluster::new();
    cluster.start_all().await;
    for round in 0..3 {
        for number in 0..10 {
            cluster.schedule(round * 10 + number).await;
        }
        let leader = cluster.leader_of(0).await;
        cluster.cut(leader, true);
        cluster
            .until("it leads no longer", |cluster| {
                !cluster.node(leader).leads_any()
            })
            .await;
        cluster.schedule(1_000 + round).await;
        cluster.cut(leader, false);
    }
    cluster.all_have_everything().await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_and_answers_that_are_lost_cost_time_and_nothing_else() {
    let mut cluster = Cluster::new();
    cluster.start_all().await;
    cluster.lose(15);
    for number in 0..30 {
        cluster.schedule(number).await;
    }
    cluster.lose(0);
    cluster.all_have_everything().await;
    cluster.stop_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_starts_anew_applies_the_journal() {
    let mut cluster = Cluster::new();
    cluster.start_all().await;
    cluster.stop(2).await;
    cluster.wipe(2);
    for number in 0..20 {
        cluster.schedule(number).await;
    }
    cluster.start(2).await;
    cluster.all_have_everything().await;
    cluster.stop_all().await;
}
