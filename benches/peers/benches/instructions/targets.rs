//! The targets of ours, and the recorded counts of the others.

use crate::{
    rows::{FIRST_PEER, LEAST, OURS, PRESIZED},
    workload::Workload::{self, Batch, Drain, First, InOut, Wake, WakeSeveral},
};

/// The greatest deviation of a count from its record, as a fraction.
pub(crate) const DRIFT: f64 = 0.03;

pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) workload: Workload,
    /// The most instructions that an operation of ours may take.
    pub(crate) at_most: Option<f64>,
    /// The most instructions that an operation of ours may take if the set was told its size.
    pub(crate) presized: Option<f64>,
    /// The most locked instructions that an operation of ours may execute.
    pub(crate) locked: Option<f64>,
    /// The recorded counts of the peers, in the order of the rows.
    peers: Option<[u64; 6]>,
    /// The recorded count of the minimum.
    least: Option<u64>,
}

impl Column {
    /// Returns the most instructions that are accepted of ours, which may be above the target.
    pub(crate) fn accepted(&self) -> Option<f64> {
        let accepted = ACCEPTED.iter().find(|(name, _)| *name == self.name);
        accepted.map_or(self.at_most, |(_, count)| Some(*count))
    }

    /// Returns the recorded count of a row. `None` for ours, and where a row lacks the workload.
    pub(crate) fn recorded(&self, row: usize) -> Option<f64> {
        let count = match row {
            OURS | PRESIZED => None,
            LEAST => self.least,
            peer => self.peers.map(|counts| counts[peer - FIRST_PEER]),
        };
        count.map(|count| count as f64)
    }
}

#[rustfmt::skip]
pub(crate) const COLUMNS: [Column; 14] = [
    column("wake 1",                 Wake(1),                Some(71.0),    None,          Some(0.0), Some([219, 263, 259, 275, 297, 80]),            Some(50)),
    column("wake 8",                 Wake(8),                Some(190.0),   None,          Some(2.0), Some([219, 263, 276, 275, 556, 220]),           Some(50)),
    column("wake 64",                Wake(64),               Some(190.0),   None,          Some(2.0), Some([219, 339, 276, 275, 2_847, 1_340]),       Some(50)),
    column("wake 1,024",             Wake(1_024),            Some(230.0),   None,          Some(2.0), Some([219, 643, 276, 325, 42_063, 20_540]),     Some(50)),
    column("wake 16,384",            Wake(16_384),           Some(280.0),   None,          Some(2.0), Some([219, 947, 260, 374, 669_582, 327_740]),   Some(50)),
    column("in and out, 0 idle",     InOut(0),               Some(122.0),   None,          None,      Some([183, 245, 439, 220, 561, 245]),           Some(36)),
    column("in and out, 1,024 idle", InOut(1_024),           Some(205.0),   Some(205.0),   None,      Some([183, 245, 454, 270, 42_833, 245]),        Some(36)),
    column("batch of 1,024",         Batch(1_024),           Some(180.0),   Some(180.0),   None,      Some([159, 221, 648, 241, 794, 288]),           None),
    column("drain 3",                Drain(3),               Some(760.0),   None,          None,      Some([731, 1_004, 800, 1_282, 3_406, 383]),     Some(188)),
    column("drain 64",               Drain(64),              Some(320.0),   None,          None,      Some([359, 501, 830, 746, 2_300, 655]),         Some(128)),
    column("drain 1,024",            Drain(1_024),           Some(340.0),   Some(344.0),   None,      Some([344, 580, 832, 795, 12_516, 5_450]),      Some(123)),
    column("three, first taken",     First(3),               Some(1_600.0), Some(1_600.0), None,      Some([1_512, 2_461, 1_542, 3_327, 8_866, 875]), Some(296)),
    column("8 wakes of 64",          WakeSeveral(8, 64),     None,          None,          Some(4.0), None,                                           None),
    column("64 wakes of 1,024",      WakeSeveral(64, 1_024), None,          None,          Some(4.0), None,                                           None),
];

/// The columns in which ours misses its target, and the most that is accepted there.
pub(crate) const ACCEPTED: [(&str, f64); 1] = [("drain 64", 340.0)];

const fn column(
    name: &'static str,
    workload: Workload,
    at_most: Option<f64>,
    presized: Option<f64>,
    locked: Option<f64>,
    peers: Option<[u64; 6]>,
    least: Option<u64>,
) -> Column {
    Column {
        name,
        workload,
        at_most,
        presized,
        locked,
        peers,
        least,
    }
}
