//! Calls of users.

use std::time::Duration;

use hyper_delay_etcd::{Client, Get, Keys, Options, Put, Watch};
use testkit::PATIENCE;
use tokio::time::timeout;

use super::{connect, etcd, next};

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
    // A range without keys is still one that the user may read.
    let none = Get::new(Keys::range("/hd/b", "/hd/a"));
    assert_eq!(client.get(none).await.unwrap().count(), 0);
    let refused = client.put(Put::new("/other", "1")).await.unwrap_err();
    assert!(!refused.is_unavailable(), "{refused:?}");
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
