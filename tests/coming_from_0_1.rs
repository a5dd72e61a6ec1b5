//! The four examples of the README of `race` 0.1, on the new API and on tokio's paused clock.

use std::{io, time::Duration};

use race::tokio::Race;
use tokio::{
    net::lookup_host,
    time::{Instant, sleep},
};

const MS: fn(u64) -> Duration = Duration::from_millis;

#[tokio::test(start_paused = true)]
async fn basic_usage_yields_the_fastest_attempt_first() {
    let started = Instant::now();
    let mut race = Race::new(
        MS(50),
        |&url| async move {
            let latency = match url {
                "server1" => 100,
                "server2" => 20,
                _ => 80,
            };
            sleep(MS(latency)).await;
            Ok::<_, io::Error>(format!("response from {url}"))
        },
        ["server1", "server2", "server3"],
    );
    let (url, data) = race.next().await.expect("there are three servers");
    assert_eq!(
        (url, data.expect("it succeeds").as_str()),
        ("server2", "response from server2")
    );
    assert_eq!(started.elapsed(), MS(70));
}

#[tokio::test(start_paused = true)]
async fn first_ok_replaces_the_loop_of_the_dns_example() {
    let started = Instant::now();
    let race = Race::new(
        MS(500),
        |&host| async move {
            let mut addresses = match host {
                "unknown" => return Err(io::Error::from(io::ErrorKind::NotFound)),
                host => lookup_host(host).await?, // asks no resolver for an IP address
            };
            addresses
                .next()
                .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        },
        ["unknown", "127.0.0.2:80", "127.0.0.3:80"],
    );
    let won = race.first_ok().await.expect("two hosts resolve");
    assert_eq!(
        (won.arg, won.output.ip().to_string().as_str()),
        ("127.0.0.2:80", "127.0.0.2")
    );
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn infinite_arguments_are_drawn_on_demand() {
    let started = Instant::now();
    let square = |&number: &u64| async move {
        sleep(MS(100)).await;
        number * number
    };
    let mut race = Race::new(MS(50), square, 0..);
    for number in 0..5 {
        assert_eq!(race.next().await, Some((number, number * number)));
    }
    assert_eq!(started.elapsed(), MS(300));
    drop(race); // cancels the attempts that still run
}

#[tokio::test(start_paused = true)]
async fn arguments_need_neither_copy_nor_clone() {
    struct Task {
        name: &'static str,
        data: Vec<i32>,
    }
    let tasks = vec![
        Task {
            name: "process",
            data: vec![1, 2, 3],
        },
        Task {
            name: "analyze",
            data: vec![4, 5, 6],
        },
    ];
    let run = |task: &Task| {
        let sum: i32 = task.data.iter().sum();
        async move { sum }
    };
    let mut race = Race::new(MS(100), run, tasks);
    let mut sums = Vec::new();
    while let Some((task, sum)) = race.next().await {
        sums.push((task.name, sum));
    }
    assert_eq!(sums, [("process", 6), ("analyze", 15)]);
}
