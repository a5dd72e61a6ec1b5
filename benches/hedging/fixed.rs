use std::time::Duration;

use crate::{
    report::{Report, percentile},
    requests::serve,
    shapes::STRAGGLERS,
};

/// A fixed delay, compared with published figures.
pub(crate) fn run(report: &mut Report) {
    println!(
        "A fixed delay; lognormal, mean 5 ms, sd 2, one in twenty ten times slower; 50,000 requests"
    );
    println!(
        "{:>9} {:>9} {:>9} {:>10} {:>11}",
        "delay ms", "p99 ms", "target", "load %", "target"
    );
    for (delay, p99, load) in [
        (None, 64.0, 0.0),
        (Some(10), 16.9, 7.3),
        (Some(50), 54.0, 2.1),
    ] {
        let policy = delay.map(Duration::from_millis);
        let mut served = serve(&STRAGGLERS, 50_000, |_| policy);
        let reached = percentile(&mut served.took, 99.0);
        let spent = served.load();
        println!(
            "{:>9} {reached:>9.1} {p99:>9.1} {spent:>10.2} {load:>11.1}{}{}",
            delay.map_or("none".into(), |delay| delay.to_string()),
            report.within(0.95, reached, p99, 1.05),
            report.within(0.95, spent, load, 1.05),
        );
    }
    println!();
}
