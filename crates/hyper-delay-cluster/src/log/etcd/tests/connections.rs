//! How often a member of etcd is connected to.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{net::TcpListener, task::JoinSet, time::timeout};

use super::process::LEASE;
use crate::log::{
    Log, LogRequest,
    contract::until,
    etcd::{
        Etcd,
        config::{EtcdConfig, EtcdCredentials, EtcdTls},
    },
};

/// A member that accepts connections, counts them, and answers nothing.
async fn silent() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = accepted.clone();
    tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            open.push(listener.accept().await.unwrap());
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    (url, accepted)
}

/// Sends calls at once, and gives them up.
async fn wave(log: &Arc<Etcd>) {
    let mut calls = JoinSet::new();
    for _ in 0..20 {
        let log = log.clone();
        calls.spawn(async move {
            let call = timeout(Duration::from_millis(100), log.call(LogRequest::Charter));
            call.await.unwrap_err();
        });
    }
    calls.join_all().await;
}

#[tokio::test]
async fn calls_of_a_user_share_one_authentication_which_outlives_them() {
    let (url, accepted) = silent().await;
    let user = EtcdCredentials {
        name: "hd".into(),
        password: "p".into(),
    };
    let config = EtcdConfig {
        endpoints: vec![url],
        tls: EtcdTls::default(),
        user: Some(user),
        lease: LEASE,
    };
    let log = Arc::new(Etcd::new(&config).unwrap());
    wave(&log).await;
    until(async || accepted.load(Ordering::Relaxed) > 0).await;
    wave(&log).await;
    assert_eq!(accepted.load(Ordering::Relaxed), 1);
}
