//! Connections, and what a member says about itself.

use hyper_delay_etcd::{Client, Error, Get, Options, Tls};
use rcgen::generate_simple_self_signed;
use tokio::net::TcpSocket;

use super::{connect, etcd};

#[tokio::test]
async fn member_that_listens_nowhere_is_named_by_the_operating_system() {
    // It is bound and does not listen: it refuses connections, and no other test gets its port.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap());
    let client = Client::connect(&url, Options::new()).await.unwrap();
    for _ in 0..2 {
        let error = client.get(Get::new("a")).await.unwrap_err();
        assert!(error.is_unavailable(), "{error:?}");
        assert!(error.to_string().contains("Connection refused"), "{error}");
    }
    let user = Options::new().user("hd", "p");
    let error = Client::connect(&url, user).await.unwrap_err().to_string();
    assert!(error.contains("Connection refused"), "{error}");
}

#[tokio::test]
async fn failed_tls_handshake_is_no_refusal_of_etcd() {
    let Some((etcd, _folder)) = etcd() else {
        return;
    };
    // The member speaks no TLS.
    let url = etcd.urls()[0].replace("http://", "https://");
    let host = etcd.addresses()[0].ip().to_string();
    let made = generate_simple_self_signed([host]).unwrap();
    let options = Options::new().tls(Tls::new().ca(made.cert.pem()));
    let client = Client::connect(&url, options).await.unwrap();
    let error = client.get(Get::new("a")).await.unwrap_err();
    assert!(error.is_unavailable(), "{error:?}");
}

#[tokio::test]
async fn url_without_a_scheme_is_an_error() {
    for url in [
        "",
        "http://",
        "not a url",
        "localhost:2379",
        "127.0.0.1",
        "/path",
    ] {
        let error = Client::connect(url, Options::new()).await.unwrap_err();
        assert!(matches!(error, Error::Url { .. }), "{url:?}: {error:?}");
    }
}

#[tokio::test]
async fn url_that_cannot_work_is_an_error() {
    for url in [
        "ftp://127.0.0.1:2379",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:2379/v3",
        "http://127.0.0.1:2379?a=b",
    ] {
        let error = Client::connect(url, Options::new()).await.unwrap_err();
        assert!(matches!(error, Error::Url { .. }), "{url:?}: {error:?}");
    }
}

#[tokio::test]
async fn authority_without_a_certificate_is_an_error() {
    for pem in ["", "garbage"] {
        let options = Options::new().tls(Tls::new().ca(pem));
        let error = Client::connect("https://127.0.0.1:2379", options).await;
        let error = error.unwrap_err();
        assert!(matches!(error, Error::Tls { .. }), "{pem:?}: {error:?}");
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
