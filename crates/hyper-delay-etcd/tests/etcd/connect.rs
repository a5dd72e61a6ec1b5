//! Connections, and what a member says about itself.

use hyper_delay_etcd::{Client, Error, Get, Options};

use super::{connect, etcd};

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
