//! Shortening the journal.

use race_wheel::Tick;

use super::{Shard, ShardSetup};
use crate::{
    call_id::{CallId, CallIds},
    entry,
    log::{LogRequest, NodeName},
    replica::AppliedEntry,
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

    /// Returns when the next action is due.
    pub(super) fn next(&self) -> Option<Tick> {
        (self.is_long && self.pending_call.is_none()).then_some(self.next)
    }

    /// Returns the request to send now. `applied` is the last entry of the journal: this node leads.
    pub(super) fn request(
        &mut self,
        applied: AppliedEntry,
        members: &[NodeName],
        setup: &ShardSetup,
        calls: &mut CallIds,
        now: Now,
    ) -> Option<(CallId, LogRequest)> {
        let bytes_since = |offset| applied.end.saturating_sub(offset);
        if self
            .first
            .is_some_and(|(_, offset)| bytes_since(offset) <= setup.retention)
        {
            self.is_full = false;
        }
        self.is_long = self.first.is_none_or(|(seq, _)| seq < applied.seq);
        if !self.is_long || self.pending_call.is_some() {
            return None;
        }
        let (shard, from) = (setup.shard, self.from);
        let is_due = now.monotonic >= self.next;
        let (request, kind) = match (self.first, self.reports.take()) {
            (None, _) if is_due => {
                self.next = now.after(setup.pause());
                (LogRequest::First { shard, from }, TrimCall::First)
            }
            (Some((seq, offset)), Some(reports)) => {
                let journal = JournalExtent {
                    first: seq,
                    last: applied.seq,
                    bytes: bytes_since(offset),
                };
                let below = below(members, &reports, journal, setup.retention);
                if below == seq {
                    self.is_full = journal.bytes > setup.retention;
                    return None;
                }
                let request = LogRequest::Trim { shard, from, below };
                (request, TrimCall::Trim { below })
            }
            (Some(_), None) if is_due => {
                self.next = now.after(setup.sync_interval);
                (LogRequest::Reports(shard), TrimCall::Reports)
            }
            (None | Some(_), _) => return None,
        };
        let call = calls.next();
        self.pending_call = Some((call, kind));
        Some((call, request))
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
        if self.leading.is_none() {
            return;
        }
        let (applied, setup, calls) = (self.replica.applied(), &self.setup, &mut self.calls);
        let request = self
            .trimming
            .request(applied, &self.members, setup, calls, now);
        self.effects.calls.extend(request);
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
    use super::{super::fixture::setup, *};
    use crate::{Charter, ShardId, replica::genesis};

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

    const CHARTER: Charter = Charter {
        cluster: 7,
        shards: 1,
    };

    /// Sends the request that is due after all pauses, with entry 90 as the last one.
    fn request(
        trimming: &mut JournalTrimming,
        calls: &mut CallIds,
        retention: u64,
    ) -> Option<(CallId, LogRequest)> {
        let setup = ShardSetup {
            retention,
            ..setup()
        };
        let applied = AppliedEntry {
            cluster: CHARTER.cluster,
            shard: setup.shard,
            seq: 90,
            hash: 0,
            end: 1_000,
            now: 0,
        };
        let later = Now {
            wall_nanos: 0,
            monotonic: Tick::new(1 << 60),
        };
        trimming.next = Tick::ZERO;
        trimming.request(applied, &names(&["a", "b", "c"]), &setup, calls, later)
    }

    /// The journal begins with entry 10, and these nodes have synced this.
    fn trimming(reports: &[(&str, u64)], retention: u64) -> (JournalTrimming, CallIds) {
        let (mut trimming, mut calls) = (JournalTrimming::default(), CallIds::default());
        let (call, asked) = request(&mut trimming, &mut calls, retention).unwrap();
        assert!(matches!(asked, LogRequest::First { from: 0, .. }));
        trimming.set_first(call, 10, &genesis(CHARTER, ShardId(0)).bytes);
        let (call, asked) = request(&mut trimming, &mut calls, retention).unwrap();
        assert!(matches!(asked, LogRequest::Reports(_)));
        let reports = reports.iter().map(|(node, seq)| ((*node).into(), *seq));
        trimming.set_reports(call, reports.collect());
        (trimming, calls)
    }

    #[test]
    fn a_trim_removes_what_all_members_have() {
        let (mut trimming, mut calls) = trimming(&[("a", 50), ("b", 40), ("c", 60)], 1_000);
        let (call, asked) = request(&mut trimming, &mut calls, 1_000).unwrap();
        let expected = LogRequest::Trim {
            shard: ShardId(0),
            from: 10,
            below: 40,
        };
        assert_eq!(asked, expected);
        assert_eq!(request(&mut trimming, &mut calls, 1_000), None);
        trimming.trimmed(call);
        let (_, asked) = request(&mut trimming, &mut calls, 1_000).unwrap();
        assert!(matches!(asked, LogRequest::First { from: 40, .. }));
    }

    #[test]
    fn a_journal_beyond_its_bound_is_full_while_a_majority_lacks_it() {
        let (mut trimming, mut calls) = trimming(&[("a", 50)], 999);
        assert!(!trimming.is_full());
        assert_eq!(request(&mut trimming, &mut calls, 999), None);
        assert!(trimming.is_full());
        let (_, asked) = request(&mut trimming, &mut calls, 1_000).unwrap();
        assert!(matches!(asked, LogRequest::Reports(_)));
        assert!(!trimming.is_full(), "the bound is higher");
    }
}
