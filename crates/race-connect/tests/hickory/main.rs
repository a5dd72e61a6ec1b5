//! Names that a name server on loopback resolves.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod dns;
mod http;
mod records;

use std::{
    io,
    time::{Duration, Instant},
};

use dns::{Dns, Reply};
use race_connect::{
    ConnectError, ConnectFailure, HappyEyeballs, Resolve as _,
    hickory_resolver::proto::{op::ResponseCode, rr::RecordType},
};
use race_tokio::TokioTimer;

const HOST: &str = "host.example";

/// Longer than any test takes, unless it waits for something that does not happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Connects to the first address that is tried, and returns it.
async fn first_start(dns: &Dns, settings: HappyEyeballs) -> Result<String, ConnectError> {
    let answers = std::pin::pin!(dns.resolver.resolve(HOST, 443));
    let dial = async |_, _| Ok(());
    let settings = settings.deadline(PATIENCE / 2);
    let connected = settings.race(TokioTimer::new(), answers, dial).await?;
    assert_eq!(connected.address.port(), 443);
    Ok(connected.address.ip().to_string())
}

/// Settings with which a test takes too long if it waits for the other family.
fn patient() -> HappyEyeballs {
    HappyEyeballs::new().resolution_delay(PATIENCE)
}

#[tokio::test]
async fn both_families_are_asked_at_once() {
    let addresses = Reply::Addresses(&["2001:db8::1"]);
    let dns = Dns::start(addresses, Reply::Never).await;
    assert_eq!(first_start(&dns, patient()).await.unwrap(), "2001:db8::1");
    let mut asked = dns.asked();
    asked.sort();
    assert_eq!(asked, [RecordType::A, RecordType::AAAA]);
}

#[tokio::test]
async fn a_waits_for_aaaa() {
    let late = Reply::Late(Duration::from_millis(30), &["2001:db8::1"]);
    let dns = Dns::start(late, Reply::Addresses(&["192.0.2.1"])).await;
    assert_eq!(first_start(&dns, patient()).await.unwrap(), "2001:db8::1");
}

#[tokio::test]
async fn a_starts_after_the_resolution_delay() {
    let dns = Dns::start(Reply::Never, Reply::Addresses(&["192.0.2.1"])).await;
    let begun = Instant::now();
    let settings = HappyEyeballs::new().resolution_delay(Duration::from_millis(80));
    assert_eq!(first_start(&dns, settings).await.unwrap(), "192.0.2.1");
    assert!(begun.elapsed() >= Duration::from_millis(80));
}

#[tokio::test]
async fn name_without_aaaa_ends_the_resolution_delay() {
    for nothing in [Reply::Nothing, Reply::Code(ResponseCode::ServFail)] {
        let dns = Dns::start(nothing, Reply::Addresses(&["192.0.2.1"])).await;
        assert_eq!(first_start(&dns, patient()).await.unwrap(), "192.0.2.1");
    }
}

#[tokio::test]
async fn addresses_of_an_answer_are_sorted() {
    // Loopback has the smaller scope, whether the other has a route or not.
    let addresses = Reply::Addresses(&["192.0.2.1", "127.0.0.1"]);
    let dns = Dns::start(Reply::Nothing, addresses).await;
    assert_eq!(first_start(&dns, patient()).await.unwrap(), "127.0.0.1");
}

#[tokio::test]
async fn name_that_does_not_exist_is_an_error() {
    let missing = Reply::Code(ResponseCode::NXDomain);
    let dns = Dns::start(missing.clone(), missing).await;
    let error = first_start(&dns, patient()).await.unwrap_err();
    assert_eq!(error.reason(), ConnectFailure::NotResolved);
    assert!(error.to_string().starts_with("cannot resolve the host: "));
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::NotFound);
}

#[tokio::test]
async fn name_without_addresses_is_an_error() {
    let dns = Dns::start(Reply::Nothing, Reply::Nothing).await;
    let error = first_start(&dns, patient()).await.unwrap_err();
    assert_eq!(error.reason(), ConnectFailure::NoAddresses);
}
