//! Measures contenders alternately, and prints the table.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

const ROUNDS: usize = 15;
/// The time for one contender in one round.
const SLICE: Duration = Duration::from_millis(4);

/// The role of a contender.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Side {
    Ours,
    Peer,
    /// A peer that is created with its final size and does not grow.
    Presized,
    /// Shown, but not a peer: a hand-written minimum, a set without wakers of its own, or ours,
    /// presized.
    Reference,
}

pub(crate) struct Contender<'a> {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    /// Runs this many turns.
    pub(crate) run: Box<dyn FnMut(u64) + 'a>,
}

pub(crate) fn contender<'a>(
    name: &'static str,
    side: Side,
    run: impl FnMut(u64) + 'a,
) -> Contender<'a> {
    let run = Box::new(run);
    Contender { name, side, run }
}

/// Measures all contenders, prints their rows and a summary. One turn has `per` operations.
pub(crate) fn compare(workload: &str, per: u64, mut contenders: Vec<Contender<'_>>) {
    let mut samples: Vec<Vec<f64>> = vec![Vec::new(); contenders.len()];
    let turns: Vec<u64> = contenders.iter_mut().map(calibrate).collect();
    for _ in 0..ROUNDS {
        for (index, it) in contenders.iter_mut().enumerate() {
            let begun = Instant::now();
            (it.run)(black_box(turns[index]));
            let nanos = begun.elapsed().as_nanos() as f64;
            samples[index].push(nanos / (turns[index] * per) as f64);
        }
    }
    let medians: Vec<f64> = samples.into_iter().map(median).collect();
    let rows = contenders.iter().zip(&medians).map(|(it, median)| Row {
        name: it.name,
        side: it.side,
        value: *median,
    });
    print(workload, "ns", rows.collect());
}

/// Returns the number of turns that take one slice.
fn calibrate(contender: &mut Contender<'_>) -> u64 {
    let mut turns = 1;
    loop {
        let begun = Instant::now();
        (contender.run)(turns);
        let took = begun.elapsed();
        if took >= SLICE / 2 {
            let scale = SLICE.as_secs_f64() / took.as_secs_f64();
            return ((turns as f64 * scale) as u64).max(1);
        }
        turns *= 2;
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    pub(crate) value: f64,
}

pub(crate) fn print(workload: &str, unit: &str, rows: Vec<Row>) {
    let best_of = |sides: &[Side]| {
        let rows = rows.iter().filter(|row| sides.contains(&row.side));
        rows.min_by(|a, b| a.value.total_cmp(&b.value))
    };
    let best = best_of(&[Side::Peer, Side::Presized]);
    println!("\n{workload}");
    for row in &rows {
        let side = match row.side {
            Side::Ours => '*',
            Side::Peer | Side::Presized => ' ',
            Side::Reference => '-',
        };
        let ratio = best.map_or(f64::NAN, |best| row.value / best.value);
        println!(
            "  {side} {:<44} {:>10.2} {unit:<5} {ratio:>7.2}",
            row.name, row.value
        );
    }
    let Some(ours) = rows.iter().find(|row| row.side == Side::Ours) else {
        return;
    };
    for (side, what) in [
        (Side::Peer, "the best growing peer"),
        (Side::Presized, "the presized peer"),
    ] {
        if let Some(peer) = best_of(&[side]) {
            let ratio = ours.value / peer.value;
            let verdict = if ratio < 1.0 { "ahead" } else { "not ahead" };
            println!("  = {ratio:.2} of {what}, {}: {verdict}", peer.name);
        }
    }
}
