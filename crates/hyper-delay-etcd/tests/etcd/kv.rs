//! Reads, writes and deletions.

use hyper_delay_etcd::{Delete, Get, Keys, Put};

use super::{all, connect, etcd, shown};

#[tokio::test]
async fn keys_are_written_read_and_deleted() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    for (key, value) in [("b", "1"), ("a", "2"), ("a\u{7f}", "3"), ("c", "")] {
        client.put(Put::new(key, value)).await.unwrap();
    }
    assert_eq!(all(&client).await, ["a=2", "a\u{7f}=3", "b=1", "c="]);
    let read = client.get(Get::new(Keys::prefix("a"))).await.unwrap();
    assert_eq!(shown(&read), ["a=2", "a\u{7f}=3"]);
    let read = client.get(Get::new("a").keys_only()).await.unwrap();
    assert_eq!(shown(&read), ["a="]);
    let part = Get::new(Keys::range("a", "c"));
    let read = client.get(part.clone().limit(1)).await.unwrap();
    assert_eq!((shown(&read), read.count()), (vec!["a=2".to_owned()], 3));
    // The second write.
    let revision = read.kvs()[0].mod_revision();
    let read = client.get(part.clone().revision(revision)).await.unwrap();
    assert_eq!(shown(&read), ["a=2", "b=1"]);
    let error = client.get(part.revision(1_000)).await.unwrap_err();
    assert!(error.to_string().contains("future revision"), "{error}");

    client.put(Put::touch("a")).await.unwrap();
    let read = client.get(Get::new("a")).await.unwrap();
    assert_eq!(shown(&read), ["a=2"]);
    assert!(read.kvs()[0].mod_revision() > revision);
    let error = client.put(Put::touch("d")).await.unwrap_err();
    assert!(error.to_string().contains("key not found"), "{error}");

    let deleted = client.delete(Delete::new(Keys::range("a", "b"))).await;
    assert_eq!(deleted.unwrap(), 2);
    assert_eq!(client.delete(Delete::new("a")).await.unwrap(), 0);
    assert_eq!(all(&client).await, ["b=1", "c="]);
}

#[tokio::test]
async fn response_that_is_too_large_is_an_error_of_its_own() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    for key in ["a", "b", "c", "d", "e"] {
        let put = Put::new(key, vec![b'x'; 1 << 20]);
        client.put(put).await.unwrap();
    }
    let error = client.get(Get::new(Keys::prefix(""))).await.unwrap_err();
    assert!(error.is_too_large() && !error.is_compacted(), "{error}");
    let read = client.get(Get::new(Keys::range("a", "d"))).await.unwrap();
    assert_eq!(read.into_kvs().len(), 3);
}

#[tokio::test]
async fn number_above_the_largest_one_of_etcd_is_not_negative() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    client.put(Put::new("a", "1")).await.unwrap();
    client.put(Put::new("b", "1")).await.unwrap();
    // etcd reads the present revision for one that is negative.
    let error = client.get(Get::new("a").revision(u64::MAX)).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("future revision"), "{error}");
    let read = client.get(Get::new(Keys::prefix("")).limit(u64::MAX)).await;
    assert_eq!(read.unwrap().kvs().len(), 2);
}
