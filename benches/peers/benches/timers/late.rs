//! The lateness of 1,000 futures for which one blocked thread waits.

use std::{
    future::poll_fn,
    pin::pin,
    time::{Duration, Instant},
};

use futures::{StreamExt, stream::FuturesUnordered};

use crate::table::{self, Row, Side};

const DEADLINES: usize = 1_000;
const WITHIN: Duration = Duration::from_secs(2);
/// The time to arm all timers before the first is due.
const LEAD: Duration = Duration::from_millis(20);
const ROUNDS: usize = 7;

/// Returns the lateness of each in microseconds.
type Lateness = Vec<f64>;

struct Contender {
    name: &'static str,
    side: Side,
    run: fn(&[Instant]) -> Lateness,
}

/// The waiting thread does nothing else; only the last contender drives its timers on it.
const CONTENDERS: [Contender; 5] = [
    Contender {
        name: "sleep_until (race-thread)",
        side: Side::Ours,
        run: |deadlines| pollster::block_on(lateness(deadlines, race_thread::sleep_until)),
    },
    Contender {
        name: "Timer (async-io)",
        side: Side::Peer,
        run: |deadlines| pollster::block_on(lateness(deadlines, async_io::Timer::at)),
    },
    Contender {
        name: "Delay (futures-timer)",
        side: Side::Peer,
        run: |deadlines| pollster::block_on(lateness(deadlines, delay_until)),
    },
    Contender {
        name: "sleep_until (tokio)",
        side: Side::Peer,
        run: |deadlines| {
            let sleep_until = |at: Instant| tokio::time::sleep_until(at.into());
            pollster::block_on(lateness(deadlines, sleep_until))
        },
    },
    Contender {
        name: "Timer (async-io), its own block_on",
        side: Side::Shown,
        run: |deadlines| async_io::block_on(lateness(deadlines, async_io::Timer::at)),
    },
];

pub(crate) fn a_thousand() {
    let mut rows = CONTENDERS.map(|Contender { name, side, .. }| Row {
        name,
        side,
        samples: vec![Vec::new(); 2],
    });
    for _ in 0..ROUNDS {
        let offsets: Vec<Duration> = (0..DEADLINES)
            .map(|_| LEAD + WITHIN.mul_f64(fastrand::f64()))
            .collect();
        for (contender, row) in CONTENDERS.iter().zip(&mut rows) {
            let begun = Instant::now();
            let deadlines: Vec<Instant> = offsets.iter().map(|it| begun + *it).collect();
            let late = (contender.run)(&deadlines);
            row.samples[0].push(percentile(&late, 50));
            row.samples[1].push(percentile(&late, 99));
        }
    }
    table::print(
        "lateness of 1,000 deadlines within 2 s; microseconds",
        &["p50", "p99"],
        1.0,
        &rows,
    );
}

fn delay_until(deadline: Instant) -> futures_timer::Delay {
    futures_timer::Delay::new(deadline.saturating_duration_since(Instant::now()))
}

/// Takes the time in the poll that is ready.
async fn lateness<F: Future>(deadlines: &[Instant], wait: impl Fn(Instant) -> F) -> Lateness {
    let waits = deadlines.iter().map(|deadline| {
        let waits = wait(*deadline);
        async move {
            let mut waits = pin!(waits);
            let ready = poll_fn(|cx| waits.as_mut().poll(cx).map(|_| Instant::now())).await;
            assert!(ready >= *deadline, "a timer was early");
            (ready - *deadline).as_nanos() as f64 / 1e3
        }
    });
    waits.collect::<FuturesUnordered<_>>().collect().await
}

fn percentile(samples: &[f64], percent: usize) -> f64 {
    let mut samples = samples.to_vec();
    samples.sort_by(f64::total_cmp);
    samples[samples.len() * percent / 100]
}
