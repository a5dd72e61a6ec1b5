use std::{io, time::Duration};

use fastrand::Rng;
use futures::{StreamExt as _, future, stream::FuturesUnordered};
use race::{Adaptive, core::Race, observe::Counters, test::VirtualClock};
use race_balance::Balance;

use crate::{report::Report, shapes::STRAGGLERS};

const REQUESTS: u32 = 200;

const RUNS: u64 = 100;

/// The requests that may take longer than `SLOW` in each run.
const MOST_SLOW: f64 = 2.0;

const SLOW: Duration = Duration::from_millis(250);

/// The replica that hangs.
const HANGS: usize = 1;

/// The client of the README from its first request on, beside a replica that hangs.
pub(crate) fn run(report: &mut Report) {
    println!("The first {REQUESTS} requests, one of two replicas hangs: {RUNS} runs, 50/s");
    println!("{:<18} {:>9} {:>6} {:>7}", "", "slow, max", "all", "extra");
    for (name, percent) in [("never hedged", 0.0), ("extra_load(5.0)", 5.0)] {
        let runs: Vec<_> = (0..RUNS).map(|seed| serve(percent, seed)).collect();
        let most = runs.iter().map(|(slow, _)| *slow).max().unwrap_or(0);
        let slow: u32 = runs.iter().map(|(slow, _)| slow).sum();
        let extra: u64 = runs.iter().map(|(_, extra)| extra).sum();
        let extra = 100.0 * extra as f64 / (f64::from(REQUESTS) * RUNS as f64);
        let mark = match percent {
            0.0 => "",
            _ => report.within(0.0, f64::from(most), MOST_SLOW, 1.0),
        };
        println!("{name:<18} {most:>9} {slow:>6} {extra:>6.2}%{mark}");
    }
    println!();
}

/// Makes the first requests of a client. Returns how many were slow, and the further attempts.
fn serve(percent: f64, seed: u64) -> (u32, u64) {
    let (clock, counters) = (VirtualClock::new(), Counters::new());
    let ms = Duration::from_millis;
    let adaptive = Adaptive::extra_load(percent)
        .initial(ms(50))
        .ceiling(ms(200));
    let replicas = Balance::timed_by(clock.clone(), [0, HANGS]).seed(seed);
    let ask = async |replica: usize, latency: Duration| match replica {
        HANGS => future::pending::<io::Result<()>>().await,
        _ => {
            clock.sleep(latency).await;
            Ok(())
        }
    };
    let mut rng = Rng::with_seed(seed);
    let requests: FuturesUnordered<_> = (0..REQUESTS)
        .map(|request| {
            let latency = STRAGGLERS.draw(&mut rng);
            let (clock, replicas, adaptive, counters) = (&clock, &replicas, &adaptive, &counters);
            async move {
                clock.sleep(ms(20) * request).await;
                let targets = replicas.targets();
                let attempt = |_| targets.try_run(|replica| ask(replica, latency));
                let race = Race::at(clock.timer())
                    .from_fn(adaptive, attempt)
                    .max_attempts(3)
                    .attempt_timeout(ms(1_000))
                    .deadline(ms(3_000))
                    .observer(counters);
                let won = race.first_ok().await;
                u32::from(won.map_or(true, |won| won.elapsed > SLOW))
            }
        })
        .collect();
    let slow = clock.run(requests.fold(0, async |sum, slow| sum + slow));
    (slow.expect("every race ends"), counters.counts().extra)
}
