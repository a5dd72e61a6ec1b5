//! The same races on each runtime, in one binary.

use std::time::{Duration, Instant};

use race::{
    Timer,
    core::Race,
    thread::{ThreadTimer, sleep},
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The second attempt wins. The others take a minute, so a busy machine makes no difference.
async fn second_wins<T: Timer + Default + Unpin, F: Future<Output = ()>>(
    sleep: impl Fn(Duration) -> F,
) {
    let begun = Instant::now();
    let run = |&latency: &Duration| sleep(latency);
    let race = Race::<_, T>::new(ms(20), run, [ms(60_000), ms(1), ms(60_000)]);
    let won = race.first().await.expect("there are three");
    assert_eq!((won.index, won.arg), (1, ms(1)));
    assert!(won.elapsed >= ms(21), "{:?}", won.elapsed);
    assert!(won.elapsed <= begun.elapsed());
}

#[test]
fn runs_on_tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(second_wins::<race::tokio::TokioTimer, _>(
        tokio::time::sleep,
    ));
}

#[test]
fn runs_on_async_io() {
    async_io::block_on(second_wins::<race::async_io::AsyncIoTimer, _>(
        async |latency| {
            async_io::Timer::after(latency).await;
        },
    ));
}

#[test]
fn runs_on_smol() {
    smol::block_on(second_wins::<race::smol::SmolTimer, _>(async |latency| {
        smol::Timer::after(latency).await;
    }));
}

#[test]
fn runs_on_pollster_and_futures_executor_with_thread_timer() {
    pollster::block_on(second_wins::<ThreadTimer, _>(sleep));
    futures::executor::block_on(second_wins::<ThreadTimer, _>(sleep));
}

#[test]
fn race_is_the_thread_race_with_any_features() {
    let attempts = [60_000, 1].map(|millis| sleep(ms(millis)));
    let race: race::thread::Race<_> = race::Race::of(ms(20), attempts);
    let race: Race<_, ThreadTimer> = race;
    // It also runs inside another runtime.
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let won = runtime.block_on(async { tokio::spawn(race.first()).await });
    assert_eq!(won.unwrap().expect("there are two").index, 1);
}

#[test]
fn runs_on_async_std_with_async_io_timer() {
    async_std::task::block_on(async_std::task::spawn(async {
        let race = race::async_io::Race::new(
            ms(20),
            |&latency| async_std::task::sleep(latency),
            [ms(60_000), ms(1), ms(60_000)],
        );
        assert_eq!(race.first().await.expect("there are three").index, 1);
    }));
}

#[test]
fn race_of_one_runtime_runs_inside_another() {
    // async-io drives its timers itself; tokio's need a tokio runtime.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let attempts = [60_000, 1].map(|millis| tokio::time::sleep(ms(millis)));
        let won = race::smol::Race::of(ms(20), attempts).first().await;
        assert_eq!(won.expect("there are two").index, 1);
    });
}

#[tokio::test(start_paused = true)]
async fn paused_clock_runs_tokio_races_in_virtual_time() {
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
async fn race_is_spawned_on_many_threads() {
    let tasks = (0..100u32).map(|task| {
        tokio::spawn(async move {
            let attempts = (0..20u32).map(|index| async move {
                tokio::time::sleep(ms(u64::from(task * 7 + index * 13) % 10)).await;
                index
            });
            let mut race = race::tokio::Race::of(Duration::from_micros(100), attempts);
            let mut sum = 0;
            while let Some((_, index)) = race.next().await {
                sum += index;
            }
            sum
        })
    });
    for sum in futures::future::join_all(tasks).await {
        assert_eq!(sum.unwrap(), 190);
    }
}
