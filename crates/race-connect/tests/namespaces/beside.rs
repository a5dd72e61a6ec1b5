//! The first answer over HTTP beside curl and the connector of `hyper_util`, on the same network.
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
    HappyEyeballs, hickory_resolver::proto::rr::RecordType, tokio::Connector, v3::Discovery,
};
use tokio::{runtime::Runtime, time::timeout};

use crate::{
    PATIENCE, listen,
    name_server::{self, Reply, address},
    namespace::{ADDRESSES_OF_FOUR, HOST_WITH_FOUR, within},
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

/// The addresses of the host with four, of one family.
fn reply(kind: RecordType) -> Option<Reply> {
    let records = ADDRESSES_OF_FOUR.iter().map(|ip| address(ip));
    Reply::now(records.filter(|it| it.record_type() == kind).collect())
}

fn compare(network: &str) {
    let (first, port) = listen(ADDRESSES_OF_FOUR[0], 0);
    serve(first);
    for ip in &ADDRESSES_OF_FOUR[1..] {
        serve(listen(ip, port).0);
    }
    let uri = format!("http://{HOST_WITH_FOUR}:{port}/");
    let runtime = Runtime::new().unwrap();
    let ours = runtime.block_on(async {
        let resolver = name_server::start(|_, kind| reply(kind)).await;
        let settings = HappyEyeballs::new().deadline(PATIENCE);
        let connector = Connector::new(settings).resolver(Discovery::new(resolver));
        get(connector, &uri).await
    });
    let mut http = HttpConnector::new();
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let hyper = runtime.block_on(get(http, &uri));
    let curl = curl(&uri);

    let ours = ours.expect("race-connect connects");
    println!("{network}: race-connect {ours:.1?}");
    for (peer, elapsed) in [("hyper_util", hyper), ("curl", curl)] {
        match elapsed {
            Some(it) => {
                let ratio = it.as_secs_f64() / ours.as_secs_f64();
                println!("{network}: {peer} {it:.1?}, {ratio:.2} times as long");
            }
            None => println!("{network}: {peer} did not connect, or is not installed"),
        }
    }
    if let Some(curl) = curl {
        assert!(ours <= curl + TOLERANCE, "{ours:?}, curl {curl:?}");
    }
}

#[test]
fn healthy_network() {
    within("beside::healthy_network", "route v6; route v4", || {
        compare("healthy");
    });
}

#[test]
fn v6_is_dropped() {
    let network = "route v6; route v4; nft add rule inet test input ip6 daddr 2001:db8::/32 drop";
    within("beside::v6_is_dropped", network, || {
        compare("IPv6 dropped");
    });
}

#[test]
fn half_of_the_addresses_are_dead() {
    within(
        "beside::half_of_the_addresses_are_dead",
        "route v6; route v4; drop v6; drop v4",
        || compare("half of the addresses dead"),
    );
}
