//! Watches.

use hyper_delay_etcd::{Delete, Event, Keys, Put};
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
