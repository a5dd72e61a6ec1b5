//! The first answer over HTTP, or the end of the handshake of TLS, beside curl and the connector of
//! `hyper_util`, on the same network.
//!
//! The peers read the addresses from `/etc/hosts`; `race-connect` asks a name server for them. Only
//! robust facts are asserted. The times and their ratios are printed.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use http_body_util::Empty;
use hyper_util::{
    client::legacy::{
        Client,
        connect::{Connect, HttpConnector},
    },
    rt::TokioExecutor,
};
use race_connect::{
    HappyEyeballs,
    hickory_resolver::proto::rr::RecordType,
    tokio::Connector,
    v3::{Discovery, Transport},
};
use tokio::{runtime::Runtime, time::timeout};

use crate::{
    DELAY, PATIENCE, listen,
    name_server::{self, Reply, address},
    namespace::{ADDRESSES_OF_FOUR, HOST_WITH_FOUR, HOST_WITH_V4, V4, within},
    quic::Site,
};

/// Both peers need a limit: without it they wait for minutes for an address that drops packets.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

/// By how much `race-connect` may be slower than curl on a busy machine.
const TOLERANCE: Duration = Duration::from_secs(1);

/// Answers each connection with 204.
fn serve(listener: TcpListener) {
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            std::thread::spawn(move || {
                let mut request = [0; 1_024];
                while stream.read(&mut request).is_ok_and(|length| length > 0) {
                    stream
                        .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
                        .unwrap();
                }
            });
        }
    });
}

fn curl(uri: &str) -> Option<Duration> {
    let limit = CONNECT_TIMEOUT.as_secs().to_string();
    let began = Instant::now();
    let status = Command::new("curl")
        .args(["-sS", "-o", "/dev/null", "--noproxy", "*"])
        .args(["--connect-timeout", &limit, uri])
        .stdin(Stdio::null())
        .status();
    status.is_ok_and(|it| it.success()).then(|| began.elapsed())
}

async fn get(
    connector: impl Connect + Clone + Send + Sync + 'static,
    uri: &str,
) -> Option<Duration> {
    let client = Client::builder(TokioExecutor::new()).build::<_, Empty<&'static [u8]>>(connector);
    let began = Instant::now();
    let answer = timeout(PATIENCE, client.get(uri.parse().unwrap())).await;
    let answer = answer.ok()?.ok()?;
    (answer.status() == 204).then(|| began.elapsed())
}

/// Connects to a host, whose servers listen on `listened` and whose addresses are these.
fn compare(network: &str, host: &str, listened: &[&str], addresses: &'static [&str]) {
    let (first, port) = listen(listened[0], 0);
    serve(first);
    for ip in &listened[1..] {
        serve(listen(ip, port).0);
    }
    let uri = format!("http://{host}:{port}/");
    let runtime = Runtime::new().unwrap();
    let ours = runtime.block_on(async {
        let resolver = name_server::start(|name, kind| reply(name, kind, addresses)).await;
        let settings = HappyEyeballs::new().deadline(PATIENCE);
        let connector = Connector::new(settings).resolver(Discovery::new(resolver));
        get(connector, &uri).await
    });
    let mut http = HttpConnector::new();
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let hyper = runtime.block_on(get(http, &uri));
    let peers = [("hyper_util", hyper), ("curl", curl(&uri))];
    report(network, ours.expect("race-connect connects"), &peers);
}

/// The addresses of the host, and those that a DNS64 makes for `ipv4only.arpa`.
fn reply(name: &str, kind: RecordType, addresses: &[&str]) -> Option<Reply> {
    let addresses = match name {
        "ipv4only.arpa" => &["64:ff9b::c000:aa", "64:ff9b::c000:ab"],
        _ => addresses,
    };
    let records = addresses.iter().map(|ip| address(ip));
    Reply::now(records.filter(|it| it.record_type() == kind).collect())
}

fn report(network: &str, ours: Duration, peers: &[(&str, Option<Duration>)]) {
    println!("{network}: race-connect {ours:.1?}");
    for (peer, elapsed) in peers {
        match elapsed {
            Some(it) => {
                let ratio = it.as_secs_f64() / ours.as_secs_f64();
                println!("{network}: {peer} {it:.1?}, {ratio:.2} times as long");
                let is_curl = *peer == "curl";
                assert!(!is_curl || ours <= *it + TOLERANCE, "{ours:?}, {it:?}");
            }
            None => println!("{network}: {peer} did not connect, or is not installed"),
        }
    }
}

fn compare_four(network: &str) {
    let addresses = &ADDRESSES_OF_FOUR;
    compare(network, HOST_WITH_FOUR, addresses, addresses);
}

#[test]
fn healthy_network() {
    within("beside::healthy_network", "route v6; route v4", || {
        compare_four("healthy");
    });
}

#[test]
fn v6_is_dropped() {
    let network = "route v6; route v4; nft add rule inet test input ip6 daddr 2001:db8::/32 drop";
    within("beside::v6_is_dropped", network, || {
        compare_four("IPv6 dropped");
    });
}

#[test]
fn half_of_the_addresses_are_dead() {
    within(
        "beside::half_of_the_addresses_are_dead",
        "route v6; route v4; drop v6; drop v4",
        || compare_four("half of the addresses dead"),
    );
}

#[test]
fn network_has_a_nat64_only() {
    let network = "no_v4; route v6; ip -6 route add local 64:ff9b::/96 dev lo";
    within("beside::network_has_a_nat64_only", network, || {
        compare("NAT64 only", HOST_WITH_V4, &["::"], &[V4]);
    });
}

/// The time until TLS is there: for `race-connect` with QUIC before it, for curl without.
#[test]
fn udp_is_blocked() {
    let network = "route v4; drop_udp v4";
    within("beside::udp_is_blocked", network, || {
        let site = Site::start(&[V4], DELAY);
        let [first, second] = [site.connect(), site.connect()];
        assert_eq!([first.transport, second.transport], [Transport::Tcp; 2]);
        let curl = curl_tls(HOST_WITH_V4, Site::ORIGIN.1);
        // Only the first connection pays for QUIC that gets no answer.
        let without_delay = first.elapsed.saturating_sub(DELAY);
        report(
            "UDP blocked, first, less the delay",
            without_delay,
            &[("curl", curl)],
        );
        report("UDP blocked, second", second.elapsed, &[("curl", curl)]);
    });
}

/// The time that curl takes until TLS is there. The server does not answer the request.
fn curl_tls(host: &str, port: u16) -> Option<Duration> {
    let output = Command::new("curl")
        .args([
            "-sk",
            "-o",
            "/dev/null",
            "--noproxy",
            "*",
            "--max-time",
            "1",
        ])
        .args([
            "-w",
            "%{time_appconnect}",
            &format!("https://{host}:{port}/"),
        ])
        .stdin(Stdio::null())
        .output();
    let seconds: f64 = String::from_utf8(output.ok()?.stdout).ok()?.parse().ok()?;
    (seconds > 0.0).then(|| Duration::from_secs_f64(seconds))
}
