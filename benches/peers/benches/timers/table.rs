//! Computes medians and prints the table.

/// The role of a contender.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Side {
    Ours,
    Peer,
    /// Shown, but not a peer.
    Shown,
}

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    /// The times of each column, one per round.
    pub(crate) samples: Vec<Vec<f64>>,
}

impl Row {
    fn medians(&self) -> Vec<f64> {
        self.samples.iter().map(|it| median(it)).collect()
    }
}

/// Prints each time with its ratio to the best peer, and whether our ratio is at most `target`.
pub(crate) fn print(title: &str, columns: &[&str], target: f64, rows: &[Row]) {
    println!("\n{title}; in brackets, to the best peer");
    print!("  {:<40}", "");
    columns.iter().for_each(|column| print!("{column:>22}"));
    println!();
    let best: Vec<f64> = (0..columns.len()).map(|at| best(rows, at)).collect();
    for row in rows {
        let side = match row.side {
            Side::Ours => '*',
            Side::Peer => ' ',
            Side::Shown => '-',
        };
        print!("{side} {:<40}", row.name);
        for (median, best) in row.medians().iter().zip(&best) {
            print!("{median:>14.1} ({:>5.2})", median / best);
        }
        println!();
    }
    for ours in rows.iter().filter(|row| row.side == Side::Ours) {
        print!("= {:<40}", ours.name);
        for (median, best) in ours.medians().iter().zip(&best) {
            let ratio = median / best;
            let verdict = if ratio <= target { "met" } else { "MISSED" };
            print!("{:>22}", format!("{ratio:.2} of {target}: {verdict}"));
        }
        println!();
    }
}

fn best(rows: &[Row], column: usize) -> f64 {
    let peers = rows.iter().filter(|row| row.side == Side::Peer);
    peers
        .map(|row| median(&row.samples[column]))
        .fold(f64::INFINITY, f64::min)
}

fn median(samples: &[f64]) -> f64 {
    let mut samples = samples.to_vec();
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
