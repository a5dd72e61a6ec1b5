use race::Adaptive;

use crate::{
    report::{Report, percentile},
    requests::{serve, serve_adaptive, serve_winners_only},
    shapes::SHAPES,
};

const REQUESTS: usize = 50_000;

/// A learnt delay: the target, and the extra load that it spends.
pub(crate) fn run(report: &mut Report) {
    println!("A learnt delay: extra load in percent of 50,000 requests; p99 in ms");
    println!(
        "{:<22} {:>6} {:>6} {:>6} {:>6} {:>13} {:>6} {:>9} {:>9}",
        "", "target", "spent", "ratio", "warm", "winners only", "ratio", "p99", "unhedged",
    );
    for shape in SHAPES {
        let mut unhedged = serve(&shape, REQUESTS, |_| None);
        let unhedged = percentile(&mut unhedged.took, 99.0);
        for target in [1.0, 5.0, 10.0] {
            let adaptive = Adaptive::extra_load(target);
            let mut served = serve_adaptive(&shape, REQUESTS, &adaptive);
            let spent = served.load();
            let blind = Adaptive::extra_load(target);
            let blind = serve_winners_only(&shape, REQUESTS, &blind).load();
            println!(
                "{:<22} {target:>6.1} {spent:>6.2} {:>6.2} {:>6.2} {blind:>13.2} {:>6.2} {:>9.1} {unhedged:>9.1}{}",
                shape.name,
                spent / target,
                served.load_once_warm(),
                blind / target,
                percentile(&mut served.took, 99.0),
                report.within(1.0 / 1.2, spent, target, 1.2),
            );
        }
    }
    println!();
}
