//! Heartbeats, and the end of leaderships whose nodes are silent.

use super::{LogClient, TTL, entry, member};
use crate::log::{
    AnnounceOutcome, AppendOutcome, JournalTail, LeaderAndHeartbeat, Log, SilentHeartbeat, Takeover,
};

pub(crate) async fn leadership_needs_the_announced_lease(log: &impl Log) {
    let (a, late) = (
        LogClient::announced(log, "a").await,
        LogClient::new(log, "a").await,
    );
    assert_eq!(late.lead().await, None);
    assert_eq!(LogClient::new(log, "b").await.lead().await, None);
    let leader = a.lead().await;
    assert!(leader.is_some());
    assert_eq!(late.lead().await, leader, "there is one already");
    let b = LogClient::announced(log, "b").await;
    b.leave().await;
    let takeover = over(&a.tail(0).await);
    assert_eq!(b.take_over(takeover).await, a.tail(0).await.leader);
    assert_eq!(a.tail(0).await.leader.map(|led| led.leader), leader);
}

/// Returns what a node takes over that has seen this.
fn over(tail: &JournalTail) -> Option<Takeover> {
    let LeaderAndHeartbeat { leader, heartbeat } = tail.leader.as_ref()?;
    Some(Takeover {
        epoch: leader.epoch,
        silence: Some(SilentHeartbeat {
            node: leader.member.node.clone(),
            revision: heartbeat.map_or(0, |heartbeat| heartbeat.revision),
        }),
    })
}

pub(crate) async fn leadership_of_a_silent_node_is_taken_over(log: &impl Log) {
    let (a, b) = (
        LogClient::announced(log, "a").await,
        LogClient::announced(log, "b").await,
    );
    let old = a.fence().await;
    let seen = b.tail(0).await;
    assert_eq!(
        seen.leader.as_ref().unwrap().heartbeat,
        a.heartbeat_of("a").await
    );
    let led = b.take_over(over(&seen)).await.unwrap();
    assert_eq!(led.leader.member, member("b"));
    assert_eq!(led.leader.lease, b.lease);
    assert!(led.leader.epoch > old.epoch);
    assert_eq!(b.take_over(over(&seen)).await.unwrap().leader, led.leader);
    assert_eq!(a.append(old, 1, &entry("one")).await, AppendOutcome::Fenced);
    assert!(a.keep_alive().await, "its lease is what it was");
    // Without a heartbeat, too.
    let seen = a.tail(0).await;
    b.leave().await;
    assert_eq!(a.take_over(over(&seen)).await.unwrap().leader, led.leader);
    let seen = a.tail(0).await;
    assert_eq!(seen.leader.as_ref().unwrap().heartbeat, None);
    let led = a.take_over(over(&seen)).await.unwrap();
    assert_eq!(led.leader.member, member("a"));
}

pub(crate) async fn leadership_of_a_node_that_lives_is_not_taken_over(log: &impl Log) {
    let (a, b) = (
        LogClient::announced(log, "a").await,
        LogClient::announced(log, "b").await,
    );
    let leader = a.lead().await.unwrap();
    let seen = b.tail(0).await;
    assert!(a.keep_alive().await);
    let led = b.take_over(over(&seen)).await.unwrap();
    assert_eq!(led.leader, leader);
    let heartbeat = led.heartbeat.unwrap();
    assert_eq!((heartbeat.lease, heartbeat.ttl), (a.lease, TTL));
    assert_eq!(a.heartbeat_of("a").await, Some(heartbeat), "as it is now");
    assert!(heartbeat.revision > seen.leader.unwrap().heartbeat.unwrap().revision);
}

pub(crate) async fn leadership_of_a_replaced_lease_is_taken_over(log: &impl Log) {
    let (a, b) = (
        LogClient::announced(log, "a").await,
        LogClient::announced(log, "b").await,
    );
    let old = a.fence().await;
    let next = LogClient::new(log, "a").await;
    let revision = a.heartbeat_of("a").await.unwrap().revision;
    assert_eq!(next.announce(revision).await, AnnounceOutcome::Done);
    assert!(next.keep_alive().await && !a.keep_alive().await);
    let led = b.tail(0).await.leader.unwrap();
    assert_eq!(led.leader.lease, a.lease);
    let heartbeat = led.heartbeat.unwrap();
    assert_eq!(heartbeat.lease, next.lease);
    assert!(heartbeat.revision > old.epoch);
    assert!(next.keep_alive().await);
    let takeover = Takeover {
        epoch: old.epoch,
        silence: None,
    };
    let led = b.take_over(Some(takeover)).await.unwrap();
    assert_eq!(led.leader.member, member("b"));
}

pub(crate) async fn leadership_that_has_changed_is_not_taken_over(log: &impl Log) {
    let (a, b) = (
        LogClient::announced(log, "a").await,
        LogClient::announced(log, "b").await,
    );
    let old = a.fence().await;
    let seen = over(&b.tail(0).await);
    a.resign(old).await;
    assert_eq!(b.take_over(seen.clone()).await, None, "there is none");
    let new = a.lead().await.unwrap();
    assert!(new.epoch > old.epoch);
    assert_eq!(b.take_over(seen).await.unwrap().leader, new);
    let takeover = Takeover {
        epoch: old.epoch,
        silence: None,
    };
    assert_eq!(b.take_over(Some(takeover)).await.unwrap().leader, new);
}

pub(crate) async fn heartbeat_changes_with_each_sign_of_life(log: &impl Log) {
    let a = LogClient::new(log, "a").await;
    assert!(!a.keep_alive().await, "it is not announced");
    assert_eq!(a.heartbeat_of("a").await, None);
    assert_eq!(a.announce(0).await, AnnounceOutcome::Done);
    let first = a.heartbeat_of("a").await.unwrap();
    assert_eq!((first.lease, first.ttl), (a.lease, TTL));
    assert_eq!(
        a.heartbeat_of("a").await,
        Some(first),
        "nothing has happened"
    );
    assert!(a.keep_alive().await);
    let second = a.heartbeat_of("a").await.unwrap();
    assert!(second.revision > first.revision);
    assert_eq!((second.lease, second.ttl), (a.lease, TTL));
    let b = LogClient::announced(log, "b").await;
    assert!(b.keep_alive().await);
    assert_eq!(a.heartbeat_of("a").await, Some(second));
}

pub(crate) async fn heartbeat_is_replaced_by_its_revision(log: &impl Log) {
    let (first, second) = (
        LogClient::announced(log, "a").await,
        LogClient::new(log, "a").await,
    );
    assert_eq!(first.announce(0).await, AnnounceOutcome::Done, "repeated");
    let seen = first.heartbeat_of("a").await;
    assert_eq!(second.announce(0).await, AnnounceOutcome::Not(seen));
    assert!(first.keep_alive().await);
    let revision = seen.unwrap().revision;
    let seen = first.heartbeat_of("a").await;
    assert_eq!(second.announce(revision).await, AnnounceOutcome::Not(seen));
    let revision = seen.unwrap().revision;
    assert_eq!(second.announce(revision).await, AnnounceOutcome::Done);
    assert_eq!(
        second.announce(revision).await,
        AnnounceOutcome::Done,
        "repeated"
    );
    assert!(!first.keep_alive().await);
    let seen = second.heartbeat_of("a").await;
    assert_eq!(seen.unwrap().lease, second.lease);
    assert_eq!(first.announce(revision).await, AnnounceOutcome::Not(seen));
    assert_eq!(first.announce(0).await, AnnounceOutcome::Not(seen));
}

pub(crate) async fn heartbeat_of_a_node_that_leaves_is_gone(log: &impl Log) {
    let (first, second) = (
        LogClient::announced(log, "a").await,
        LogClient::new(log, "a").await,
    );
    let b = LogClient::announced(log, "b").await;
    let revision = first.heartbeat_of("a").await.unwrap().revision;
    second.leave().await;
    assert!(first.keep_alive().await, "it was another lease that left");
    first.leave().await;
    first.leave().await;
    assert_eq!(first.heartbeat_of("a").await, None);
    assert!(!first.keep_alive().await && b.keep_alive().await);
    assert_eq!(second.announce(revision).await, AnnounceOutcome::Not(None));
    assert_eq!(second.announce(0).await, AnnounceOutcome::Done);
    first.leave().await;
    assert!(second.keep_alive().await);
}
