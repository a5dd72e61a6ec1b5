//! Shortening the journal.

use race_wheel::Tick;

use super::Shard;
use crate::{
    call_id::CallId,
    entry,
    log::{LogRequest, NodeName},
};
use hyper_delay_engine::clock::Now;
use hyper_delay_store::Store;

/// The beginning of the journal, as far as the leader knows.
#[derive(Debug, Default)]
pub(super) struct JournalTrimming {
    /// The first entry, and the bytes of all entries before it.
    first: Option<(u64, u64)>,
    /// All entries before this one are removed.
    from: u64,
    /// The reports of the nodes. Used once.
    reports: Option<Vec<(NodeName, u64)>>,
    pending_call: Option<(CallId, TrimCall)>,
    next: Tick,
    /// Whether there is more than one entry.
    is_long: bool,
    /// Whether the journal is beyond its bound, and nothing of it can be removed, because a majority
    /// of the members lacks it.
    is_full: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrimCall {
    First,
    Reports,
    Trim { below: u64 },
}

impl JournalTrimming {
    pub(super) fn set_first(&mut self, call: CallId, seq: u64, entry: &[u8]) {
        if self.take_call(call, TrimCall::First)
            && let Ok(header) = entry::header(entry)
        {
            self.first = Some((seq, header.offset));
            self.from = seq;
        }
    }

    pub(super) fn set_reports(&mut self, call: CallId, reports: Vec<(NodeName, u64)>) {
        if self.take_call(call, TrimCall::Reports) {
            self.reports = Some(reports);
        }
    }

    pub(super) fn trimmed(&mut self, call: CallId) {
        if let Some((pending, TrimCall::Trim { below })) = self.pending_call
            && pending == call
        {
            self.pending_call = None;
            self.first = None;
            self.from = below;
        }
    }

    pub(super) fn unanswered(&mut self, call: CallId, again: Tick) {
        if self
            .pending_call
            .take_if(|(pending, _)| *pending == call)
            .is_some()
        {
            self.next = again;
        }
    }

    /// Returns whether the journal may not become longer by tasks.
    pub(super) const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns when something is to be done.
    pub(super) fn next(&self) -> Option<Tick> {
        (self.is_long && self.pending_call.is_none()).then_some(self.next)
    }

    fn take_call(&mut self, call: CallId, kind: TrimCall) -> bool {
        let pending = self
            .pending_call
            .take_if(|pending| *pending == (call, kind));
        pending.is_some()
    }
}

impl<S: Store> Shard<S> {
    /// Removes the entries that no node needs, from time to time.
    pub(super) fn trim(&mut self, now: Now) {
        let applied = self.replica.applied();
        let trimming = &mut self.trimming;
        let (first, from) = (trimming.first, trimming.from);
        let bytes = first.map(|(_, offset)| applied.end.saturating_sub(offset));
        if bytes.is_some_and(|bytes| bytes <= self.setup.retention) {
            trimming.is_full = false;
        }
        trimming.is_long = self.leading.is_some() && first.is_none_or(|(seq, _)| seq < applied.seq);
        if !trimming.is_long || trimming.pending_call.is_some() {
            return;
        }
        let shard = self.setup.shard;
        let (request, kind) = match (first, trimming.reports.take()) {
            (None, _) if now.monotonic >= trimming.next => {
                trimming.next = now.after(self.setup.lease / 64);
                (LogRequest::First { shard, from }, TrimCall::First)
            }
            (None, _) => return,
            (Some((seq, offset)), Some(reports)) => {
                let journal = JournalExtent {
                    first: seq,
                    last: applied.seq,
                    bytes: applied.end.saturating_sub(offset),
                };
                let below = below(&self.members, &reports, journal, self.setup.retention);
                if below == seq {
                    self.trimming.is_full = journal.bytes > self.setup.retention;
                    return;
                }
                (
                    LogRequest::Trim { shard, from, below },
                    TrimCall::Trim { below },
                )
            }
            (Some(_), None) if now.monotonic >= trimming.next => {
                trimming.next = now.after(self.setup.sync_interval);
                (LogRequest::Reports(shard), TrimCall::Reports)
            }
            (Some(_), None) => return,
        };
        let call = self.call(request);
        self.trimming.pending_call = Some((call, kind));
    }
}

/// The extent of a journal.
#[derive(Debug, Clone, Copy)]
struct JournalExtent {
    first: u64,
    last: u64,
    bytes: u64,
}

/// Returns the place of the first entry that must stay.
///
/// Every member has all entries before it on its disk; in a journal with more bytes than
/// `retention`, a majority of the members has. The last entry always stays, as the next one is only
/// put after it.
fn below(
    members: &[NodeName],
    reports: &[(NodeName, u64)],
    journal: JournalExtent,
    retention: u64,
) -> u64 {
    let synced = |member: &NodeName| {
        let report = reports.iter().find(|(node, _)| node == member);
        report.map_or(0, |(_, seq)| *seq)
    };
    let mut synced: Vec<u64> = members.iter().map(synced).collect();
    synced.sort_unstable_by(|one, other| other.cmp(one));
    let place = match journal.bytes > retention {
        true => synced.get(members.len() / 2),
        false => synced.last(),
    };
    let place = place.copied().unwrap_or_default();
    place.clamp(journal.first, journal.last.max(journal.first))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOURNAL: JournalExtent = JournalExtent {
        first: 10,
        last: 90,
        bytes: 1_000,
    };

    fn names(names: &[&str]) -> Vec<NodeName> {
        names.iter().map(|name| NodeName::from(*name)).collect()
    }

    fn below_for_three(reports: &[(&str, u64)], journal: JournalExtent, retention: u64) -> u64 {
        below_for_members(&["a", "b", "c"], reports, journal, retention)
    }

    fn below_for_members(
        members: &[&str],
        reports: &[(&str, u64)],
        journal: JournalExtent,
        retention: u64,
    ) -> u64 {
        let reports: Vec<_> = reports
            .iter()
            .map(|(node, seq)| (NodeName::from(*node), *seq))
            .collect();
        below(&names(members), &reports, journal, retention)
    }

    #[test]
    fn what_one_member_lacks_stays() {
        assert_eq!(
            below_for_three(&[("a", 50), ("b", 40), ("c", 60)], JOURNAL, 1_000),
            40
        );
        assert_eq!(
            below_for_three(&[("a", 50), ("b", 40)], JOURNAL, 1_000),
            10,
            "c has nothing"
        );
        let reports = [("a", 50), ("b", 40), ("c", 60), ("removed", 12)];
        assert_eq!(below_for_three(&reports, JOURNAL, 1_000), 40);
    }

    #[test]
    fn beyond_the_retention_a_minority_is_left_behind() {
        assert_eq!(below_for_three(&[("a", 50), ("b", 40)], JOURNAL, 999), 40);
        assert_eq!(
            below_for_three(&[("a", 50)], JOURNAL, 999),
            10,
            "a majority lacks it"
        );
    }

    #[test]
    fn half_of_the_members_are_no_majority() {
        let reports = [("a", 60), ("b", 50), ("c", 40), ("d", 30)];
        let of_four = |reports| below_for_members(&["a", "b", "c", "d"], reports, JOURNAL, 999);
        assert_eq!(of_four(&reports), 40);
        assert_eq!(of_four(&reports[..2]), 10, "two of four lack it");
        let of_two = |reports| below_for_members(&["a", "b"], reports, JOURNAL, 999);
        assert_eq!(of_two(&reports[..2]), 50);
        assert_eq!(of_two(&reports[..1]), 10, "one of two lacks it");
        assert_eq!(below_for_members(&["a"], &reports[..1], JOURNAL, 999), 60);
    }

    #[test]
    fn the_last_entry_stays() {
        assert_eq!(
            below_for_three(&[("a", 90), ("b", 90), ("c", 90)], JOURNAL, 1_000),
            90
        );
        let journal = JournalExtent {
            last: 80,
            ..JOURNAL
        };
        assert_eq!(
            below_for_three(&[("a", 90), ("b", 90), ("c", 90)], journal, 1_000),
            80
        );
    }
}
