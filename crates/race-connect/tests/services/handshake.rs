//! Handshakes that wait for the HTTPS records: DNS is protected, and the client uses ECH.

use std::{
    io,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Wake, Waker},
};

use race_connect::{
    ConnectFailure, Destination, HappyEyeballs,
    v3::{Discovery, Network, ServiceRecord},
};

use crate::host::{HANGS, Host, Reply, assert_log, ms, origin, preferences};

fn with_ech() -> Reply {
    Reply::Https(vec![ServiceRecord::service(1, ".").ech([1, 2, 3])])
}

fn host(https: u64, reply: Reply) -> Host {
    Host::new(
        [
            ("a.test HTTPS", https, reply),
            ("a.test AAAA", 0, Reply::Aaaa("a")),
            ("a.test A", 0, Reply::A("a")),
        ],
        [("T6a", 10, Ok(())), ("T4a", HANGS, Ok(()))],
    )
}

fn protected(host: &Host) -> Discovery<Host> {
    host.discovery()
        .preferences(preferences().ech(true))
        .network(Network::dual_stack().protected_dns(true))
}

#[test]
fn attempt_over_tcp_starts_and_its_handshake_waits_for_the_https_answer() {
    let host = host(200, with_ech());
    let began = Mutex::new(Vec::new());
    let handshake = |to: Destination| {
        let (host, began) = (&host, &began);
        async move {
            let ech = to.handshake().await?;
            began.lock().unwrap().push((host.millis(), ech));
            Ok(())
        }
    };
    host.connect_with(
        &HappyEyeballs::new(),
        &protected(&host),
        &origin(),
        handshake,
    )
    .unwrap();
    assert_log(&host.starts(), &[("T6a", 50)]);
    let ech = Some(Arc::from([1, 2, 3]));
    assert_eq!(*began.lock().unwrap(), [(200, ech)]);
}

#[test]
fn handshake_begins_at_once_unless_dns_is_protected_and_ech_is_used() {
    for (is_protected, uses_ech) in [(false, false), (true, false), (false, true)] {
        let host = host(HANGS, with_ech());
        let discovery = host
            .discovery()
            .preferences(preferences().ech(uses_ech))
            .network(Network::dual_stack().protected_dns(is_protected));
        let handshake = |to: Destination| async move {
            assert_eq!(to.handshake().await?, None);
            Ok(())
        };
        host.connect_with(&HappyEyeballs::new(), &discovery, &origin(), handshake)
            .unwrap();
        assert_eq!(host.millis(), 60);
    }
}

/// An attempt that does not wait for its handshake must not keep the connection from failing.
#[test]
fn failing_https_query_fails_the_connection_at_once() {
    let host = host(400, Reply::Fails(io::ErrorKind::HostUnreachable));
    let refused = Mutex::new(false);
    let handshake = |to: Destination| {
        let refused = &refused;
        async move {
            *refused.lock().unwrap() = true;
            to.handshake().await.map(|_| ())
        }
    };
    let error = host
        .connect_with(
            &HappyEyeballs::new(),
            &protected(&host),
            &origin(),
            handshake,
        )
        .err()
        .unwrap();
    assert!(*refused.lock().unwrap());
    assert_log(&host.starts(), &[("T6a", 50), ("T4a", 300)]);
    assert_eq!(host.millis(), 400);
    assert_eq!(error.reason(), ConnectFailure::HttpsQueryFailed);
    assert_eq!(
        error.to_string(),
        "no connection to a.test:443 without its HTTPS records: [2001:db8::61]:443: no answer; \
         192.0.2.97:443: no answer; resolver: a.test HTTPS: SERVFAIL"
    );
    let error = io::Error::from(error);
    assert_eq!(error.kind(), io::ErrorKind::HostUnreachable);
}

#[test]
fn endpoint_that_the_records_do_not_allow_is_refused_and_the_race_continues() {
    let elsewhere = ServiceRecord::service(1, "b.test").ech([1]);
    let host = Host::new(
        [
            ("a.test HTTPS", 100, Reply::Https(vec![elsewhere])),
            ("a.test AAAA", 0, Reply::Aaaa("a")),
            ("a.test A", 0, Reply::A("")),
            ("b.test. AAAA", 100, Reply::Aaaa("b")),
            ("b.test. A", 0, Reply::A("")),
        ],
        [("T6a", 10, Ok(())), ("T6b", 10, Ok(()))],
    );
    let handshake = |to: Destination| async move { to.handshake().await.map(|_| ()) };
    host.connect_with(
        &HappyEyeballs::new(),
        &protected(&host),
        &origin(),
        handshake,
    )
    .unwrap();
    assert_log(&host.starts(), &[("T6a", 50), ("T6b", 200)]);
    assert_eq!(host.millis(), 210);
}

#[derive(Default)]
struct Wakes(Mutex<usize>);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() += 1;
    }
}

/// A task that is polled often must not collect wakers.
#[test]
fn handshake_is_woken_once_however_often_it_is_polled() {
    let host = host(200, with_ech());
    let wakes = Arc::new(Wakes::default());
    let handshake = |to: Destination| {
        let waker = Waker::from(wakes.clone());
        let host = &host;
        async move {
            let mut cx = Context::from_waker(&waker);
            {
                let mut dropped = pin!(to.handshake());
                assert!(dropped.as_mut().poll(&mut cx).is_pending());
            }
            let mut handshake = pin!(to.handshake());
            for _ in 0..100 {
                assert!(handshake.as_mut().poll(&mut cx).is_pending());
            }
            host.wait(300).await;
            let polled = handshake.as_mut().poll(&mut cx);
            assert!(matches!(polled, Poll::Ready(Ok(Some(_)))));
            Ok(())
        }
    };
    host.connect_with(
        &HappyEyeballs::new(),
        &protected(&host),
        &origin(),
        handshake,
    )
    .unwrap();
    assert_eq!(*wakes.0.lock().unwrap(), 1);
}

#[test]
fn handshakes_of_clones_are_all_woken() {
    let host = host(200, with_ech());
    let handshake = |to: Destination| async move {
        let twin = to.clone();
        let (one, other) = futures::join!(to.handshake(), twin.handshake());
        assert_eq!(one?, other?);
        Ok(())
    };
    host.connect_with(
        &HappyEyeballs::new(),
        &protected(&host),
        &origin(),
        handshake,
    )
    .unwrap();
    assert_eq!(host.millis(), 200);
}

/// As in a task that a dial has spawned, whose end nothing else announces.
#[test]
fn handshake_that_outlives_the_race_is_refused() {
    let host = host(HANGS, with_ech());
    let kept = Mutex::new(None);
    let handshake = |to: Destination| {
        *kept.lock().unwrap() = Some(to);
        std::future::pending()
    };
    let settings = HappyEyeballs::new().deadline(ms(100));
    let discovery = protected(&host);
    let destination = {
        host.connect_with(&settings, &discovery, &origin(), handshake)
            .err()
            .unwrap();
        kept.lock().unwrap().take().unwrap()
    };
    let error = host
        .clock
        .run(destination.handshake())
        .unwrap()
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
}

#[test]
fn end_of_the_race_wakes_a_handshake() {
    let host = host(HANGS, with_ech());
    let wakes = Arc::new(Wakes::default());
    let kept = Mutex::new(None);
    let handshake = |to: Destination| {
        let mut waiting = Box::pin(async move { to.handshake().await });
        let waker = Waker::from(wakes.clone());
        assert!(
            waiting
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        *kept.lock().unwrap() = Some(waiting);
        std::future::ready(Ok(()))
    };
    host.connect_with(
        &HappyEyeballs::new(),
        &protected(&host),
        &origin(),
        handshake,
    )
    .unwrap();
    assert_eq!(*wakes.0.lock().unwrap(), 1);
}
