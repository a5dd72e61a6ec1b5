use std::{io, time::Duration};

use futures::{StreamExt as _, stream};
use reqwest::dns::Resolve as _;
use tokio::time::{Instant, sleep_until};

use super::*;
use crate::Family;

/// Gives answers at these milliseconds, and does not end.
struct Answers(fn() -> Vec<(u64, Answer)>);

impl Resolve for Answers {
    fn resolve<'a>(&'a self, _: &'a str, _: u16) -> impl Stream<Item = Answer> + Send + 'a {
        let begun = Instant::now();
        let answers = stream::iter(self.0()).then(move |(at, answer)| async move {
            sleep_until(begun + Duration::from_millis(at)).await;
            answer
        });
        answers.chain(stream::pending())
    }
}

fn addresses(ips: &[&str]) -> Answer {
    let ips = ips
        .iter()
        .map(|ip| (ip.parse::<std::net::IpAddr>().unwrap(), 0).into());
    Answer::Addresses(ips.collect())
}

/// Returns the addresses, and after how many milliseconds they were there.
async fn resolve(answers: fn() -> Vec<(u64, Answer)>) -> (Vec<String>, u128) {
    let begun = Instant::now();
    let resolver = Resolver::new(Answers(answers)).resolution_delay(Duration::from_millis(70));
    let addresses = resolver
        .resolve("host.example".parse().unwrap())
        .await
        .unwrap();
    let ips = addresses.map(|address| address.ip().to_string()).collect();
    (ips, begun.elapsed().as_millis())
}

#[tokio::test(start_paused = true)]
async fn one_answer_keeps_its_order() {
    let (ips, _) = resolve(|| vec![(0, addresses(&["192.0.2.1", "127.0.0.1"]))]).await;
    assert_eq!(ips, ["192.0.2.1", "127.0.0.1"]);
}

#[tokio::test(start_paused = true)]
async fn several_answers_are_sorted_together() {
    let (ips, _) = resolve(|| {
        let first = addresses(&["192.0.2.1"]);
        vec![(0, first), (60, addresses(&["127.0.0.1", "192.0.2.1"]))]
    })
    .await;
    assert_eq!(ips, ["127.0.0.1", "192.0.2.1"]);
}

#[tokio::test(start_paused = true)]
async fn further_answers_are_awaited_for_the_resolution_delay() {
    let (ips, elapsed) = resolve(|| {
        let error = io::Error::other("SERVFAIL");
        vec![
            (100, Answer::Failed(Family::V6, error)),
            (200, addresses(&["192.0.2.1"])),
            (271, addresses(&["127.0.0.1"])),
        ]
    })
    .await;
    assert_eq!(ips, ["192.0.2.1"]);
    // The clock of tokio has a resolution of a millisecond.
    assert!((270..=271).contains(&elapsed), "{elapsed}");
}

#[tokio::test(start_paused = true)]
async fn withdrawn_addresses_are_left_out() {
    let (ips, _) = resolve(|| {
        let both = addresses(&["127.0.0.1", "127.0.0.2"]);
        let gone = Answer::Withdrawn(vec![([127, 0, 0, 1], 0).into()]);
        vec![(0, both), (10, gone)]
    })
    .await;
    assert_eq!(ips, ["127.0.0.2"]);
}

#[tokio::test(start_paused = true)]
async fn resolver_that_has_ended_is_not_awaited() {
    let begun = Instant::now();
    let (ips, _) = resolve(|| {
        vec![
            (10, addresses(&["127.0.0.1"])),
            (11, Answer::Ended(Family::V4)),
            (12, Answer::Ended(Family::V6)),
        ]
    })
    .await;
    assert_eq!(ips, ["127.0.0.1"]);
    assert!(begun.elapsed() < Duration::from_millis(20));

    for answers in [
        (|| vec![(5, Answer::FailedForBoth(io::Error::other("SERVFAIL")))]) as fn() -> _,
        || {
            vec![
                (5, Answer::Ended(Family::V4)),
                (6, Answer::Ended(Family::V6)),
            ]
        },
    ] {
        let resolver = Resolver::new(Answers(answers));
        let resolving = resolver.resolve("host.example".parse().unwrap());
        let error = resolving.await.err().unwrap().to_string();
        assert!(error.contains("host.example"), "{error}");
    }
    assert!(begun.elapsed() < Duration::from_millis(50));
}

/// A resolver that always has an answer.
#[derive(Debug)]
struct Busy;

impl Resolve for Busy {
    fn resolve<'a>(&'a self, _: &'a str, _: u16) -> impl Stream<Item = Answer> + Send + 'a {
        stream::repeat_with(|| addresses(&["127.0.0.1"]))
    }
}

#[tokio::test]
async fn resolver_that_always_answers_does_not_outlive_the_delay() {
    let resolver = Resolver::new(Arc::new(Busy)).resolution_delay(Duration::from_millis(5));
    let resolving = resolver.clone().resolve("host.example".parse().unwrap());
    assert_eq!(resolving.await.unwrap().count(), 1);
}
