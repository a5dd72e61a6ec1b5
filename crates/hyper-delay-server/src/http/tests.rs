//! What is answered while a server is not ready.

use std::{
    net::SocketAddr,
    sync::mpsc::{self, Receiver},
    thread,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::*;
use crate::{
    connection::{NoReply, PendingReply},
    driver::{EventSender, ServerEvent},
};
use hyper_delay_config::Cluster;
use hyper_delay_engine::metrics::{GaugeLimits, MemoryGauges, Metrics};
use hyper_delay_store::fake::Fake;

/// A listener, and what a server would give it. `configs` lives as long as the listener.
async fn start() -> (Http, SocketAddr, watch::Sender<Config>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, configs) = watch::channel(Config::default());
    (
        Http::start(listener, configs, None).unwrap(),
        address,
        sender,
    )
}

/// Answers as a scheduler does until no event can come any more.
fn answer(events: Receiver<ServerEvent>) {
    thread::spawn(move || {
        for event in events {
            match event {
                ServerEvent::IsReady(sender) => drop(sender.send(Ok(()))),
                ServerEvent::InMemory(sender) => drop(sender.send(vec![MemoryGauges::default()])),
                _ => {}
            }
        }
    });
}

/// What a server without tokens gives the listener, whose requests get no reply.
fn serving(
    store: Arc<Fake>,
    metrics: Arc<Metrics>,
    events: mpsc::Sender<ServerEvent>,
) -> HttpBackend {
    let access = Access {
        tokens: watch::channel(None).1,
        failures: Arc::default(),
        logs: Arc::default(),
    };
    let ask = |_| -> PendingReply { Box::pin(async { Err(NoReply::Unknown) }) };
    let read = store.clone();
    let gauges = move |memory: &[MemoryGauges], limits: &GaugeLimits| {
        hyper_delay_engine::metrics::read_gauges(&read, &memory[0], limits)
    };
    let store = (store, Arc::new(gauges) as _, Default::default());
    let events = EventSender::from(events);
    HttpBackend::new(store, metrics, events, ask, access)
}

async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn ready_begins_with_the_store_and_ends_with_the_shutdown() {
    let (http, address, _configs) = start().await;
    assert_eq!(get(address, "/readyz").await.0, 503);
    let (events, received) = mpsc::channel();
    answer(received);
    let store = Arc::new(Fake::default());
    let metrics = Arc::new(Metrics::default());
    http.set_serving(serving(store.clone(), metrics, events));
    assert_eq!(get(address, "/readyz").await, (200, "ready\n".to_owned()));
    assert_eq!(get(address, "/metrics").await.0, 200);
    http.set_stopping();
    let stopping = "the server is shutting down: wait for its restart\n";
    for path in ["/readyz", "/metrics"] {
        assert_eq!(get(address, path).await, (503, stopping.to_owned()));
    }
    assert_eq!(get(address, "/healthz").await.0, 200);
    http.close().await;
    assert!(TcpStream::connect(address).await.is_err());
    assert_eq!(Arc::strong_count(&store), 1, "nothing uses the store");
}

#[tokio::test]
async fn a_node_that_is_not_ready_says_that_it_may_wait_for_etcd() {
    let (_http, address, configs) = start().await;
    let opening = "the store is being opened: wait\n";
    assert_eq!(get(address, "/readyz").await, (503, opening.to_owned()));
    let cluster = Cluster {
        etcd: Vec::new(),
        node: "a".to_owned(),
        advertise: "localhost:7002".to_owned(),
        bind_addr: address,
        lease_ms: 2_000,
        tls: None,
        etcd_tls: None,
        etcd_user: None,
    };
    configs.send_modify(|config| config.cluster = Some(cluster));
    let (status, body) = get(address, "/readyz").await;
    assert_eq!(status, 503);
    assert!(body.contains("etcd does not answer yet"), "{body}");
}

#[tokio::test]
async fn a_failed_write_and_a_scheduler_that_has_ended_are_reasons() {
    let (http, address, _configs) = start().await;
    let (events, received) = mpsc::channel();
    let metrics = Arc::new(Metrics::default());
    http.set_serving(serving(Arc::default(), metrics.clone(), events));
    drop(received);
    let ended = "the scheduler does not answer: look at the log\n";
    for path in ["/readyz", "/metrics"] {
        assert_eq!(get(address, path).await, (503, ended.to_owned()));
    }
    let _ = metrics.write.run(|| Err::<(), ()>(()));
    let failed = "a write to the store has failed: look at the log\n";
    assert_eq!(get(address, "/readyz").await, (503, failed.to_owned()));
    assert_eq!(get(address, "/healthz").await.0, 200);
}

#[tokio::test]
async fn a_closed_listener_closes_its_connections() {
    let (http, address, _configs) = start().await;
    let mut open = TcpStream::connect(address).await.unwrap();
    open.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut bytes = [0; 17];
    open.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"HTTP/1.1 200 OK\r\n");
    http.close().await;
    let mut rest = Vec::new();
    let _ = open.read_to_end(&mut rest).await;
    assert!(rest.ends_with(b"alive\n"));
}
