//! The client against a real etcd.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::time::Duration;

use hyper_delay_etcd::{
    Client, Compare, Delete, Error, Event, Get, GetResponse, Keys, Options, Put, Relation, Txn,
    Watch,
};
use tempfile::TempDir;
use testkit::{Etcd, PATIENCE};
use tokio::time::timeout;

/// Starts one etcd. `None`: it is not installed.
fn etcd() -> Option<(Etcd, TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    Etcd::is_installed().then(|| (Etcd::start(folder.path(), 1, &[], "http"), folder))
}

/// Waits until etcd answers, which it does some time after it listens.
async fn connect(etcd: &Etcd) -> Client {
    let client = Client::connect(&etcd.urls()[0], Options::new()).await;
    let client = client.unwrap();
    timeout(PATIENCE, async {
        while client.get(Get::new("a")).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .unwrap();
    client
}

fn shown(read: &GetResponse) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let kvs = read.kvs().iter();
    kvs.map(|kv| format!("{}={}", text(kv.key()), text(kv.value())))
        .collect()
}

async fn all(client: &Client) -> Vec<String> {
    shown(&client.get(Get::new(Keys::prefix(""))).await.unwrap())
}

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
async fn transaction_takes_the_branch_of_its_comparisons() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let client = connect(&etcd).await;
    client.put(Put::new("a", "m")).await.unwrap();
    let read = client.get(Get::new("a")).await.unwrap();
    let revision = read.kvs()[0].mod_revision();
    let holds = async |compare: Compare| {
        let done = client.txn(Txn::new().when(compare)).await.unwrap();
        done.succeeded()
    };
    use Relation::{Equal, Greater, Less};
    for (compare, expected) in [
        (Compare::absent("a"), false),
        (Compare::absent("b"), true),
        (Compare::absent(Keys::prefix("a")), false),
        (Compare::absent(Keys::prefix("b")), true),
        (Compare::present("a"), true),
        (Compare::present("b"), false),
        (Compare::version("a", Equal, 1), true),
        (Compare::version("a", Less, 1), false),
        (Compare::version("a", Greater, 0), true),
        (Compare::mod_revision("a", Equal, revision), true),
        (Compare::mod_revision("a", Less, revision), false),
        (Compare::mod_revision("b", Equal, 0), true),
        (Compare::value("a", Equal, "m"), true),
        (Compare::value("a", Greater, "l"), true),
        (Compare::value("a", Less, "m"), false),
        (Compare::value("b", Equal, ""), false),
    ] {
        assert_eq!(holds(compare.clone()).await, expected, "{compare:?}");
    }

    let txn = |value: &'static str| {
        Txn::new()
            .when_all([Compare::present("a"), Compare::absent("b")])
            .then(Get::new("b"))
            .then(Put::new("b", value))
            .then_all([Delete::new("x"), Delete::new("y")])
            .then(Get::new(Keys::prefix("")))
            .or_else(Get::new("b"))
    };
    let done = client.txn(txn("first")).await.unwrap();
    assert!(done.succeeded());
    let written = done.revision();
    // The reads alone, in their order.
    let reads = done.into_reads();
    let reads: Vec<_> = reads.iter().map(shown).collect();
    assert_eq!(
        reads,
        [vec![], vec!["a=m".to_owned(), "b=first".to_owned()]]
    );
    let done = client.txn(txn("second")).await.unwrap();
    assert!(!done.succeeded());
    let read = done.into_reads().remove(0);
    assert_eq!(shown(&read), ["b=first"]);
    assert_eq!(read.kvs()[0].mod_revision(), written);
}

async fn next(watch: &mut Watch) -> Vec<Event> {
    timeout(PATIENCE, watch.next()).await.unwrap().unwrap()
}

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
    timeout(PATIENCE, watch.next()).await.unwrap().unwrap_err();
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
async fn calls_of_a_user_go_on_after_etcd_has_forgotten_its_token() {
    let Some((mut etcd, _folder)) = etcd() else {
        return;
    };
    let root = connect(&etcd).await;
    etcd.require_users("hd", "p");
    let refused = root.get(Get::new("/hd/a")).await.unwrap_err().to_string();
    assert!(refused.contains("user name is empty"), "{refused}");
    let url = &etcd.urls()[0];
    let wrong = Client::connect(url, Options::new().user("hd", "wrong")).await;
    let wrong = wrong.unwrap_err().to_string();
    assert!(wrong.contains("invalid user ID or password"), "{wrong}");

    let client = Client::connect(url, Options::new().user("hd", "p")).await;
    let client = client.unwrap();
    client.put(Put::new("/hd/a", "1")).await.unwrap();
    let refused = client.put(Put::new("/other", "1")).await.unwrap_err();
    assert!(
        refused.to_string().contains("permission denied"),
        "{refused}"
    );
    let keys = || Keys::prefix("/hd/");
    client.watch(keys()).await.unwrap();
    // A new process knows no token.
    etcd.kill(0);
    etcd.restart(0);
    let begun = async |client: &Client| -> Watch {
        timeout(PATIENCE, async {
            loop {
                match client.watch(keys()).await {
                    Ok(watch) => return watch,
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        })
        .await
        .unwrap()
    };
    let mut watch = begun(&client).await;
    client.put(Put::new("/hd/a", "2")).await.unwrap();
    assert_eq!(&next(&mut watch).await[0].kv().value()[..], b"2");
}

#[tokio::test]
async fn member_that_listens_nowhere_is_named_by_the_operating_system() {
    // Nothing listens once the listener is dropped.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", port.local_addr().unwrap());
    drop(port);
    let client = Client::connect(&url, Options::new()).await.unwrap();
    for _ in 0..2 {
        let error = client.get(Get::new("a")).await.unwrap_err().to_string();
        assert!(error.contains("Connection refused"), "{error}");
    }
    let user = Options::new().user("hd", "p");
    let error = Client::connect(&url, user).await.unwrap_err().to_string();
    assert!(error.contains("Connection refused"), "{error}");
}

#[tokio::test]
async fn url_without_a_scheme_is_an_error() {
    for url in ["", "http://", "not a url"] {
        let error = Client::connect(url, Options::new()).await.unwrap_err();
        assert!(matches!(error, Error::Transport(_)), "{url:?}: {error:?}");
    }
}

#[tokio::test]
async fn status_tells_the_version_and_the_leader() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    let status = connect(&etcd).await.status().await.unwrap();
    assert!(status.is_leader());
    assert!(status.version().starts_with("3."), "{}", status.version());
}
