//! Ranges of keys, whose ends etcd gives special meanings.

use hyper_delay_etcd::{Client, Compare, Delete, Get, Keys, Put, Txn};

use super::{all, connect, etcd, shown};

async fn write(client: &Client, keys: &[&str]) {
    for &key in keys {
        client.put(Put::new(key, "")).await.unwrap();
    }
}

#[tokio::test]
async fn range_whose_end_is_not_greater_than_its_start_has_no_keys() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    write(&client, &["a", "b", "c"]).await;
    for (start, end) in [
        ("b", "\0"),
        ("a", ""),
        ("b", "a"),
        ("b", "b"),
        ("", ""),
        ("", "\0"),
        ("\0", "\0"),
    ] {
        let case = format!("{start:?} {end:?}");
        let keys = Keys::range(start, end);
        let read = client.get(Get::new(keys.clone())).await.unwrap();
        assert_eq!((read.kvs().len(), read.count()), (0, 0), "{case}");
        let deleted = client.delete(Delete::new(keys.clone())).await.unwrap();
        assert_eq!(deleted, 0, "{case}");
        // etcd refuses to delete and to write the same key in one transaction.
        let txn = Txn::new()
            .when(Compare::absent(keys.clone()))
            .then(Get::new(keys.clone()))
            .then(Delete::new(keys))
            .then_all(["a", "b", "c"].map(|key| Put::new(key, "")));
        assert!(client.txn(txn).await.unwrap().succeeded(), "{case}");
        assert_eq!(all(&client).await, ["a=", "b=", "c="], "{case}");
    }
}

#[tokio::test]
async fn empty_start_is_before_every_key() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    write(&client, &["\0", "a", "b"]).await;
    let read = client.get(Get::new(Keys::range("", "b"))).await.unwrap();
    assert_eq!(shown(&read), ["\0=", "a="]);
    let deleted = client.delete(Delete::new(Keys::range("", "b"))).await;
    assert_eq!(deleted.unwrap(), 2);
    assert_eq!(all(&client).await, ["b="]);
}

#[tokio::test]
async fn range_without_an_end_has_all_keys_from_its_start_on() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    write(&client, &["a", "b", "c"]).await;
    let keys = || Keys::range_from("b");
    let read = client.get(Get::new(keys())).await.unwrap();
    assert_eq!(shown(&read), ["b=", "c="]);
    let mut watch = client.watch(keys()).await.unwrap();
    assert_eq!(client.delete(Delete::new(keys())).await.unwrap(), 2);
    let deleted = super::next(&mut watch).await;
    assert_eq!(deleted[0].kv().key(), "b");
    assert_eq!(all(&client).await, ["a="]);
}
