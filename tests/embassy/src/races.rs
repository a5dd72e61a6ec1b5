use std::time::Duration;

use embassy_time::Timer;
use race_core::Won;
use race_embassy::{EmbassyTimer, InlineRace, Race};

const DELAY: Duration = Duration::from_millis(5);

/// The second attempt is the fastest by a minute.
fn attempts() -> [impl Future<Output = u64>; 3] {
    [60_000, 10, 60_000].map(|millis| async move {
        Timer::after_millis(millis).await;
        millis
    })
}

fn second_wins(race: &str, won: Option<Won<usize, u64>>) {
    let won = won.expect("there are three attempts");
    assert_eq!((won.index, won.output), (1, 10));
    assert!(
        won.elapsed >= Duration::from_millis(15),
        "early: {:?}",
        won.elapsed
    );
    println!("{race}: #1 won");
}

pub async fn inline() {
    let race = InlineRace::<4, _>::of(DELAY, attempts());
    second_wins("race_embassy::InlineRace", race.first().await);
}

pub async fn on_the_heap() {
    let race = Race::of(DELAY, attempts());
    second_wins("race_embassy::Race", race.first().await);
}

pub async fn with_own_wakers() {
    let race = race_core::Race::at(EmbassyTimer::new()).of(DELAY, attempts());
    second_wins("race_core::Race", race.first().await);
}
