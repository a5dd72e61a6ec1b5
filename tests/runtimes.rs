//! The same races on each runtime, all in one binary.

use std::time::{Duration, Instant};

use race::{
    Timer,
    core::Race,
    thread::{ThreadTimer, sleep},
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The second is the quick one, and so much so that a busy machine does not matter.
async fn second_wins<T: Timer + Default + Unpin, F: Future<Output = ()>>(
    sleep: impl Fn(Duration) -> F,
) {
    let begun = Instant::now();
    let run = |&latency: &Duration| sleep(latency);
    let race = Race::<_, T>::new(ms(20), run, [ms(60_000), ms(1), ms(60_000)]);
    let won = race.first().await.expect("there are three");
    assert_eq!((won.place, won.arg), (1, ms(1)));
    assert!(won.elapsed >= ms(21), "{:?}", won.elapsed);
    assert!(won.elapsed <= begun.elapsed());
}

#[test]
fn on_tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(second_wins::<race::tokio::TokioTimer, _>(
        tokio::time::sleep,
    ));
}

#[test]
fn on_async_io() {
    async_io::block_on(second_wins::<race::async_io::AsyncIoTimer, _>(
        async |latency| {
            async_io::Timer::after(latency).await;
        },
    ));
}

#[test]
fn on_smol() {
    smol::block_on(second_wins::<race::smol::SmolTimer, _>(async |latency| {
        smol::Timer::after(latency).await;
    }));
}

#[test]
fn on_pollster_and_on_the_executor_of_futures_with_a_timer_of_their_own() {
    pollster::block_on(second_wins::<ThreadTimer, _>(sleep));
    futures::executor::block_on(second_wins::<ThreadTimer, _>(sleep));
}

#[test]
fn race_is_the_one_of_the_thread_whatever_features_are_on() {
    let attempts = [60_000, 1].map(|millis| sleep(ms(millis)));
    let race: race::thread::Race<_> = race::Race::of(ms(20), attempts);
    let race: Race<_, ThreadTimer> = race;
    // It runs within any runtime, too.
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let won = runtime.block_on(async { tokio::spawn(race.first()).await });
    assert_eq!(won.unwrap().expect("there are two").place, 1);
}

#[test]
fn on_async_std_through_async_io() {
    async_std::task::block_on(async_std::task::spawn(async {
        let race = race::async_io::Race::new(
            ms(20),
            |&latency| async_std::task::sleep(latency),
            [ms(60_000), ms(1), ms(60_000)],
        );
        assert_eq!(race.first().await.expect("there are three").place, 1);
    }));
}

#[test]
fn a_race_of_one_runtime_runs_within_another() {
    // async-io's timers go by themselves; tokio's need tokio around them.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let attempts = [60_000, 1].map(|millis| tokio::time::sleep(ms(millis)));
        let won = race::smol::Race::of(ms(20), attempts).first().await;
        assert_eq!(won.expect("there are two").place, 1);
    });
}

#[tokio::test(start_paused = true)]
async fn tokio_races_run_in_virtual_time_when_its_clock_is_paused() {
    let begun = tokio::time::Instant::now();
    let mut race = race::tokio::Race::new(
        ms(50_000),
        |&latency| tokio::time::sleep(latency),
        [100_000, 20_000, 80_000].map(ms),
    );
    let mut out = Vec::new();
    while let Some((latency, ())) = race.next().await {
        out.push((latency.as_secs(), begun.elapsed().as_secs()));
    }
    assert_eq!(out, [(20, 70), (100, 100), (80, 180)]);
}

#[tokio::test]
async fn a_race_is_spawned_on_many_threads() {
    let tasks = (0..100u32).map(|task| {
        tokio::spawn(async move {
            let attempts = (0..20u32).map(|place| async move {
                tokio::time::sleep(ms(u64::from(task * 7 + place * 13) % 10)).await;
                place
            });
            let mut race = race::tokio::Race::of(Duration::from_micros(100), attempts);
            let mut sum = 0;
            while let Some((_, place)) = race.next().await {
                sum += place;
            }
            sum
        })
    });
    for sum in futures::future::join_all(tasks).await {
        assert_eq!(sum.unwrap(), 190);
    }
}
