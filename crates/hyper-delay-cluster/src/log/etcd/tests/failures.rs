//! Members of etcd that fail. The calls have ten seconds each, so a slow machine is not taken for a
//! failed member.

use std::{sync::Mutex, time::Duration};

use super::process::{LEASE, Processes};
use crate::log::{
    AnnounceOutcome, AppendOutcome, LeaseId, Log, LogAnswer, LogEvent, LogRequest,
    contract::{LogClient, TTL, entry, member, until},
    etcd::{
        Etcd,
        config::{EtcdConfig, EtcdCredentials, EtcdTls},
        endpoints::HedgeDelay,
        request::pace,
    },
};

/// The node `a`, on a log of its own.
fn node(log: &Etcd, lease: LeaseId) -> LogClient<'_, Etcd> {
    let name = "a";
    LogClient { log, name, lease }
}

fn keep_alive(lease: LeaseId) -> LogRequest {
    LogRequest::KeepAlive {
        member: member("a"),
        lease,
        ttl: TTL,
        missing_links: [].into(),
    }
}

/// Repeats a request until it is answered.
pub(super) async fn answer(log: &Etcd, request: &LogRequest) -> LogAnswer {
    let mut answer = None;
    until(async || {
        answer = log.call(request.clone()).await.ok();
        answer.is_some()
    })
    .await;
    answer.unwrap()
}

#[tokio::test]
async fn every_call_is_answered_while_a_follower_is_stopped() {
    let Some(etcd) = Processes::three() else {
        return;
    };
    let leader = etcd.leader().await;
    let follower = (leader + 1) % 3;
    let calm = etcd.log_at(leader);
    let a = LogClient::announced(&calm, "a").await;
    let fence = a.fence().await;
    etcd.stop(follower);
    // Each log is new, so it asks the stopped member first.
    let stopped = || etcd.log_at(follower);
    assert!(node(&stopped(), a.lease).keep_alive().await);
    let announced = node(&stopped(), a.lease).announce(0).await;
    assert_eq!(announced, AnnounceOutcome::Done);
    let log = stopped();
    let b = node(&log, a.lease);
    assert_eq!(b.append(fence, 1, &entry("it")).await, AppendOutcome::Done);
    // From now on it asks another one.
    assert_eq!(b.append(fence, 1, &entry("it")).await, AppendOutcome::Done);
    assert_eq!(node(&stopped(), a.lease).tail(0).await.last, 1);
    // These go to one member at a time: the second call goes to another one.
    let log = stopped();
    assert_eq!(pace(&LogRequest::Remove("b".into())), HedgeDelay::Never);
    assert_eq!(
        answer(&log, &LogRequest::Remove("b".into())).await,
        LogAnswer::Done
    );
}

/// What a lease and a leadership are worth after `fail` befell the leader of etcd.
async fn leader_of_etcd(fail: impl AsyncFnOnce(&mut Processes, usize)) {
    let Some(mut etcd) = Processes::three() else {
        return;
    };
    let leader = etcd.leader().await;
    let log = etcd.log_at(leader);
    let a = LogClient::announced(&log, "a").await;
    let fence = a.fence().await;
    assert_eq!(a.append(fence, 1, &entry("one")).await, AppendOutcome::Done);
    fail(&mut etcd, leader).await;
    let alive = answer(&log, &keep_alive(a.lease)).await;
    assert_eq!(alive, LogAnswer::Alive(true));
    let append = |seq, text| LogRequest::Append {
        fence,
        seq,
        entry: entry(text),
    };
    for (seq, text) in [(1, "one"), (2, "two"), (3, "three")] {
        let appended = answer(&log, &append(seq, text)).await;
        assert_eq!(appended, LogAnswer::Appended(AppendOutcome::Done));
    }
    let other = etcd.log_at((leader + 1) % 3);
    let b = node(&other, a.lease);
    let tail = b.tail(1).await;
    assert_eq!(tail.leader.unwrap().leader.epoch, fence.epoch);
    let entries = [(1, entry("one")), (2, entry("two")), (3, entry("three"))];
    assert_eq!(tail.entries, entries);
    assert!(b.keep_alive().await);
}

#[tokio::test]
async fn lease_outlives_a_stopped_leader_of_etcd() {
    leader_of_etcd(async |etcd, leader| etcd.stop(leader)).await;
}

#[tokio::test]
async fn lease_outlives_a_killed_leader_of_etcd() {
    leader_of_etcd(async |etcd, leader| etcd.kill(leader)).await;
}

#[tokio::test]
async fn lease_outlives_a_leader_of_etcd_that_was_stopped_for_a_while() {
    leader_of_etcd(async |etcd, leader| {
        etcd.stop(leader);
        etcd.answers(&etcd.log_at((leader + 1) % 3)).await;
        etcd.go_on(leader);
    })
    .await;
}

#[tokio::test]
async fn lease_is_not_kept_alive_by_a_leader_of_etcd_without_a_majority() {
    let Some(etcd) = Processes::three() else {
        return;
    };
    let leader = etcd.leader().await;
    let mut config = etcd.config();
    config.lease = Duration::from_secs(4);
    config.endpoints = vec![etcd.urls().remove(leader)];
    let log = Etcd::new(&config).unwrap();
    // The calls before may take longer, on a slow machine.
    let patient = etcd.log_at(leader);
    let a = LogClient::announced(&patient, "a").await;
    assert!(a.keep_alive().await);
    etcd.stop((leader + 1) % 3);
    etcd.stop((leader + 2) % 3);
    // It still takes itself for the leader.
    log.call(keep_alive(a.lease)).await.unwrap_err();
}

#[tokio::test]
async fn without_a_majority_there_is_no_answer_until_it_is_back() {
    let Some(mut etcd) = Processes::three() else {
        return;
    };
    let mut config = etcd.config();
    config.lease = Duration::from_secs(4);
    let log = Etcd::new(&config).unwrap();
    etcd.answers(&log).await;
    etcd.stop(0);
    etcd.kill(1);
    for request in [LogRequest::Charter, keep_alive(LeaseId(1))] {
        log.call(request).await.unwrap_err();
    }
    etcd.restart(1);
    assert_eq!(
        answer(&log, &LogRequest::Charter).await,
        LogAnswer::Charter(None)
    );
}

#[tokio::test]
async fn reason_of_each_member_is_short() {
    let urls = [(); 2].map(|()| format!("http://{}", testkit::loopback()));
    let [a, b] = &urls;
    for user in [None, Some("hd")] {
        let config = EtcdConfig {
            endpoints: urls.to_vec(),
            tls: EtcdTls::default(),
            user: user.map(|user| EtcdCredentials {
                name: user.into(),
                password: "p".into(),
            }),
            lease: LEASE,
        };
        let log = Etcd::new(&config).unwrap();
        let error = log.call(LogRequest::Charter).await.unwrap_err().to_string();
        let why = "Connection refused (os error 111)";
        assert_eq!(
            error,
            format!("etcd at {a}, {b}: all 2 attempts failed: #0: {a}: {why}; #1: {b}: {why}")
        );
    }
}

/// A watch tells news again after `fail` befell the member whose news it tells.
async fn watch(log: &Etcd, fail: impl AsyncFnOnce()) {
    let notified = Mutex::new(0);
    let count = |event| *notified.lock().unwrap() += usize::from(event == LogEvent::Members);
    let test = async {
        let changes = async || {
            let before = *notified.lock().unwrap();
            until(async || {
                let member = member("a");
                answer(log, &LogRequest::Join(member)).await;
                *notified.lock().unwrap() > before
            })
            .await;
        };
        changes().await;
        fail().await;
        // News that were on their way.
        tokio::time::sleep(Duration::from_millis(100)).await;
        changes().await;
    };
    tokio::select! {
        () = log.watch(count) => panic!("the watch has ended"),
        () = test => {}
    }
}

#[tokio::test]
async fn watch_goes_on_at_another_member() {
    let Some(etcd) = Processes::three() else {
        return;
    };
    let follower = (etcd.leader().await + 1) % 3;
    let mut config = etcd.config();
    config.lease = Duration::from_secs(4);
    config.endpoints.rotate_left(follower);
    let log = Etcd::new(&config).unwrap();
    watch(&log, async || etcd.stop(follower)).await;
}

#[tokio::test]
async fn watch_and_calls_go_on_after_etcd_was_restarted() {
    let Some(mut etcd) = Processes::one() else {
        return;
    };
    let mut config = etcd.config();
    config.lease = Duration::from_secs(4);
    let log = Etcd::new(&config).unwrap();
    watch(&log, async || {
        etcd.kill(0);
        let error = log.call(LogRequest::Charter).await.unwrap_err().to_string();
        assert!(error.contains(&config.endpoints[0]), "{error}");
        etcd.restart(0);
    })
    .await;
}

#[tokio::test]
async fn watch_does_not_trust_a_member_without_a_leader() {
    let Some(mut etcd) = Processes::three() else {
        return;
    };
    let log = etcd.log();
    etcd.answers(&log).await;
    etcd.kill(1);
    etcd.kill(2);
    // The first member lives, and has no majority.
    let mut config = etcd.config();
    config.endpoints.truncate(1);
    config.lease = Duration::from_secs(60);
    let endpoint = super::super::endpoint::EtcdEndpoint::new(
        &config.endpoints[0],
        config.connections().unwrap().remove(0).1,
        testkit::PATIENCE,
    );
    let patience = testkit::PATIENCE;
    let ended = super::super::watch::follow(&endpoint.call(), patience, &mut |_| (), |_| ()).await;
    let ended = ended.to_string();
    assert!(ended.contains("no leader"), "{ended}");
}
