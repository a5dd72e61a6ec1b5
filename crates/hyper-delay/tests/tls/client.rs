//! The Rust client.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use hyper_delay_client::{Builder, Client, Code, ConnectError, Task, Tls, TlsError};
use serde_json::json;
use tokio::time::timeout;

use crate::{authority::Authority, peer::Options, server::Server};

const TASKS: usize = 1000;

fn builder(server: &Server) -> Builder {
    Client::builder(server.address.to_string())
        .reconnect(Duration::from_millis(10), Duration::from_millis(100))
        .request_timeout(testkit::PATIENCE)
}

fn trusting(server: &Server) -> Tls {
    Tls::new().ca(server.directory.path().join("ca.pem"))
}

#[tokio::test]
async fn a_thousand_tasks_pass_while_the_server_is_killed_and_the_client_reconnects() {
    let server = Server::start_with(json!({"sync": "always"}));
    let client = builder(&server).tls(trusting(&server)).connect().await;
    let client = client.unwrap();
    let heard: Arc<Mutex<HashSet<String>>> = Arc::default();
    let listener = tokio::spawn({
        let (client, heard) = (client.clone(), heard.clone());
        async move {
            let handle = move |delivery: hyper_delay_client::Delivery| {
                heard.lock().unwrap().insert(delivery.id().to_owned());
                async { Ok::<_, std::io::Error>(()) }
            };
            client.listen("a", handle).await
        }
    });
    let schedule = |id: usize| {
        let client = client.clone();
        async move {
            let task = Task::new("x").route("a").id(id.to_string());
            client.schedule(task).await.map(drop)
        }
    };
    let mut scheduling = tokio::task::JoinSet::new();
    for id in 0..TASKS / 2 {
        scheduling.spawn(schedule(id));
    }
    // Some are answered, and some are under way.
    scheduling.join_next().await.unwrap().unwrap().unwrap();
    let server = tokio::task::spawn_blocking(|| server.restart())
        .await
        .unwrap();
    for id in TASKS / 2..TASKS {
        scheduling.spawn(schedule(id));
    }
    while let Some(scheduled) = scheduling.join_next().await {
        scheduled.unwrap().unwrap();
    }
    let all = async {
        while heard.lock().unwrap().len() < TASKS {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(testkit::PATIENCE, all).await.expect("all arrive");
    client.close().await.unwrap();
    listener.await.unwrap().unwrap();
    drop(server);
}

#[tokio::test]
async fn large_requests_and_deliveries_pass_at_the_same_time() {
    const LARGE: usize = 300;
    let server = Server::start();
    let client = builder(&server).tls(trusting(&server)).connect().await;
    let client = client.unwrap();
    let mut deliveries = client.deliveries("a").await.unwrap();
    let mut scheduling = tokio::task::JoinSet::new();
    for id in 0..LARGE {
        let client = client.clone();
        let task = Task::new(vec![7; 45_000]).route("a").id(id.to_string());
        scheduling.spawn(async move { client.schedule(task).await });
    }
    for _ in 0..LARGE {
        let delivery = timeout(testkit::PATIENCE, deliveries.next()).await;
        let delivery = delivery.unwrap().unwrap();
        assert_eq!(delivery.payload(), vec![7; 45_000]);
        delivery.ack();
    }
    while let Some(scheduled) = scheduling.join_next().await {
        scheduled.unwrap().unwrap();
    }
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_server_of_another_authority_is_not_trusted() {
    let server = Server::start();
    let other = server.directory.write("other.pem", &Authority::new().pem());
    let error = builder(&server).tls(Tls::new().ca(other)).connect().await;
    let error = error.unwrap_err();
    assert!(
        matches!(
            &error,
            ConnectError::Tls {
                source: TlsError::Handshake(_),
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn the_certificate_must_have_the_name_of_the_host_or_the_one_that_is_set() {
    let server = Server::start();
    for (name, is_in_it) in [("localhost", true), ("tasks.internal", false)] {
        let tls = trusting(&server).server_name(name);
        let connected = builder(&server).tls(tls).connect().await;
        assert_eq!(connected.is_ok(), is_in_it, "{connected:?}");
    }
    let tls = trusting(&server).server_name("no name");
    let error = builder(&server).tls(tls).connect().await.unwrap_err();
    assert!(
        matches!(
            &error,
            ConnectError::Tls {
                source: TlsError::ServerName { .. },
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_client_certificate_is_sent_and_its_lack_is_named() {
    let server = Server::start_with_client_ca();
    let mine = server.authority.issue();
    let certificate = server.directory.write("mine.pem", &mine.cert);
    let key = server.directory.write("mine.key", &mine.key);
    let tls = trusting(&server).client_certificate(certificate, &key);
    let client = builder(&server).tls(tls).connect().await.unwrap();
    client.ping().await.unwrap();
    let error = builder(&server).tls(trusting(&server)).connect().await;
    let error = error.unwrap_err();
    let source = std::error::Error::source(&error).and_then(|error| error.source());
    let source = source.unwrap().to_string();
    assert!(source.contains("CertificateRequired"), "{source}");
    // A key of another certificate.
    let tls = trusting(&server).client_certificate(server.directory.path().join("ca.pem"), &key);
    let error = builder(&server).tls(tls).connect().await.unwrap_err();
    assert!(
        matches!(
            &error,
            ConnectError::Tls {
                source: TlsError::Unusable { .. },
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn renewed_files_are_read_for_the_next_connection() {
    let server = Server::start();
    let trusted = server
        .directory
        .write("trusted.pem", &Authority::new().pem());
    let tls = Tls::new().ca(&trusted);
    let refused = builder(&server).tls(tls.clone()).connect().await;
    assert!(refused.is_err());
    server
        .directory
        .write("trusted.pem", &server.authority.pem());
    let client = builder(&server).tls(tls).connect().await.unwrap();
    client.ping().await.unwrap();
}

#[tokio::test]
async fn each_side_without_tls_is_named() {
    let server = Server::start();
    let error = builder(&server).connect().await.unwrap_err();
    let ConnectError::Refused { source, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(source.code, Code::TlsRequired);
    let plain = Server::start_with(json!({"tls": null}));
    let error = builder(&plain).tls(trusting(&plain)).connect().await;
    let error = error.unwrap_err();
    assert!(
        matches!(
            &error,
            ConnectError::Tls {
                source: TlsError::NotTls,
                ..
            }
        ),
        "{error:?}"
    );
    Options::of(&server)
        .connect(server.address)
        .unwrap()
        .pings();
}
