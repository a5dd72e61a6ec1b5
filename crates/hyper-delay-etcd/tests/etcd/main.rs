//! The client against a real etcd.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod connect;
mod keys;
mod kv;
mod txn;
mod users;
mod watch;

use std::time::Duration;

use hyper_delay_etcd::{Client, Event, Get, GetResponse, Keys, Options, Watch};
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

async fn next(watch: &mut Watch) -> Vec<Event> {
    timeout(PATIENCE, watch.next()).await.unwrap().unwrap()
}
