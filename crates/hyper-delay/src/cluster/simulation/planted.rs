//! Faults that are planted to see that the checks notice them.

use std::cell::Cell;

/// A fault in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::cluster) enum Planted {
    #[default]
    Nothing,
    /// The log takes entries of every leader.
    NoFence,
    /// A delivery is written without a look at the lease.
    NoLeaseAtTheSocket,
    /// A leadership is taken over, whether its node is still silent or not.
    IgnoresHeartbeats,
    /// A leadership is taken over after half of a lease.
    ShortWait,
    /// A node starts from what was applied, synced or not.
    StartsFromApplied,
    /// Entries are removed up to what is applied on all nodes, synced or not.
    ReportsApplied,
    /// A node acts until the last moment of its lease.
    NoMargin,
    /// The time of a lease counts from when the answer came.
    CountsFromReceipt,
    /// What is synced is noted before it is synced.
    NotesBeforeSync,
    /// The last entry of a journal is removed, too.
    TrimsTheLast,
    /// An append without an answer counts as failed: the next entry takes its place.
    UnansweredIsFailed,
    /// A leader begins with the ledger that it had when it led before.
    KeepsTheLedger,
    /// Deliveries of a session that has ended are still written.
    KeepsTheOutbox,
    /// Entries are applied as they come.
    AppliesInAnyOrder,
    /// An ack counts only if this leader has the delivery in flight.
    DropsOlderAcks,
    /// A node that ends does not say so.
    EndsInSilence,
    /// A planned end of a leadership passes nothing on.
    PassesNothingOn,
    /// Every delivery that is given back counts as failed.
    IgnoresUnharmed,
    /// The connections of a node are closed when its link breaks.
    ClosesDetached,
    /// A read does not wait until the replica of its node is as far as the leader.
    ReadsAtOnce,
    /// Entries are removed that a majority has not synced.
    TrimsPastMajority,
    /// What was reported of a node is not lowered when it has lost its disk.
    KeepsReports,
    /// A snapshot does not say how far it is: what its giver has when it arrives counts.
    SnapshotWithoutApplied,
}

thread_local! {
    static PLANTED: Cell<Planted> = const { Cell::new(Planted::Nothing) };
}

/// Plants a fault in everything that runs on this thread, instead of the last one.
pub(super) fn plant(planted: Planted) {
    PLANTED.set(planted);
}

/// Returns whether this fault is planted.
pub(in crate::cluster) fn is_planted(planted: Planted) -> bool {
    PLANTED.get() == planted
}
