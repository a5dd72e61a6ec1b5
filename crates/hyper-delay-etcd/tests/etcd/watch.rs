//! Watches.

use std::time::Duration;

use hyper_delay_etcd::{Delete, Error, Event, Get, Keys, Put, Txn};
use testkit::PATIENCE;
use tokio::time::timeout;

use super::{connect, etcd, next};

#[tokio::test]
async fn watch_has_events_in_order_and_answers_when_nothing_happens() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    client.put(Put::new("w/before", "")).await.unwrap();
    let mut watch = client.watch(Keys::prefix("w/")).await.unwrap();
    client.put(Put::new("other", "")).await.unwrap();
    client.put(Put::new("w/a", "1")).await.unwrap();
    client.delete(Delete::new("w/a")).await.unwrap();
    let mut events = next(&mut watch).await;
    while events.len() < 2 {
        events.extend(next(&mut watch).await);
    }
    let [Event::Put(put), Event::Delete(deleted)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!((&put.key()[..], &put.value()[..]), (&b"w/a"[..], &b"1"[..]));
    assert_eq!(
        (&deleted.key()[..], &deleted.value()[..]),
        (&b"w/a"[..], &b""[..])
    );
    assert!(put.mod_revision() < deleted.mod_revision());
    watch.request_progress().await.unwrap();
    assert_eq!(next(&mut watch).await, []);
}

#[tokio::test]
async fn watch_ends_with_the_connection() {
    let Some((mut etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    let mut watch = client.watch("a").await.unwrap();
    etcd.kill(0);
    let ended = timeout(PATIENCE, watch.next()).await.unwrap().unwrap_err();
    assert!(ended.is_unavailable(), "{ended:?}");
}

#[tokio::test]
async fn keys_that_etcd_does_not_watch_are_an_error() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    for keys in [Keys::one(""), Keys::range("b", "a"), Keys::range("b", "")] {
        let error = client.watch(keys.clone()).await.unwrap_err();
        assert!(matches!(error, Error::Unwatchable(_)), "{keys:?}: {error}");
    }
}

#[tokio::test]
async fn read_after_the_watch_has_begun_leaves_no_gap() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    let mut watch = client.watch("a").await.unwrap();
    client.put(Put::new("a", "1")).await.unwrap();
    let read = client.txn(Txn::new().then(Get::new("a"))).await.unwrap();
    client.put(Put::new("a", "2")).await.unwrap();
    let mut events = next(&mut watch).await;
    while events.len() < 2 {
        events.extend(next(&mut watch).await);
    }
    let is_in_read = |event: &Event| event.kv().mod_revision() <= read.revision();
    let known: Vec<_> = events.iter().map(is_in_read).collect();
    assert_eq!(known, [true, false]);
}

#[tokio::test]
async fn watch_of_a_member_that_hangs_stays_pending() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    let mut watch = client.watch("a").await.unwrap();
    etcd.signal(0, "STOP");
    watch.request_progress().await.unwrap();
    let silence = timeout(Duration::from_millis(100), watch.next()).await;
    assert!(silence.is_err(), "{silence:?}");
    etcd.signal(0, "CONT");
    assert_eq!(next(&mut watch).await, []);
}
