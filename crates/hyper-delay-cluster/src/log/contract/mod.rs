//! The contract of every log, with a test for each engine.

mod in_memory;
mod log_client;
mod takeover;
mod watch;

use std::sync::Arc;

use super::{
    AnnounceOutcome, AppendOutcome, LeaseId, Log, LogAnswer, LogRequest, Membership, MissingLink,
};
use crate::{Charter, replica};
use in_memory::InMemoryLog;
pub(crate) use log_client::{CHARTER, LogClient, SHARD, TTL, entry, member};
pub(crate) use takeover::{
    heartbeat_changes_with_each_sign_of_life, heartbeat_is_replaced_by_its_revision,
    heartbeat_of_a_node_that_leaves_is_gone, leadership_needs_the_announced_lease,
    leadership_of_a_node_that_lives_is_not_taken_over,
    leadership_of_a_replaced_lease_is_taken_over, leadership_of_a_silent_node_is_taken_over,
    leadership_that_has_changed_is_not_taken_over,
};
#[cfg(feature = "etcd")]
pub(crate) use watch::until;
pub(crate) use watch::{tell_entries, tell_leaders, tell_members};

/// Passes the names of all tests of the contract to a macro.
macro_rules! for_each_fact {
    ($test:ident) => {
        $test! {
            cluster_is_made_once
            entry_is_appended_in_its_place_only
            entry_that_is_there_is_done_whoever_leads
            entry_of_an_ended_leadership_is_refused
            shard_has_one_leader
            leadership_ends_only_by_its_own_fence
            leadership_needs_the_announced_lease
            leadership_of_a_silent_node_is_taken_over
            leadership_of_a_node_that_lives_is_not_taken_over
            leadership_of_a_replaced_lease_is_taken_over
            leadership_that_has_changed_is_not_taken_over
            heartbeat_changes_with_each_sign_of_life
            heartbeat_is_replaced_by_its_revision
            heartbeat_of_a_node_that_leaves_is_gone
            report_needs_the_announced_lease
            report_of_a_node_that_was_removed_does_not_come_back
            tail_is_read_in_parts
            trimmed_entries_do_not_come_back
            members_are_permanent
            a_sign_of_life_tells_which_links_are_missing
            only_a_member_moves
            tell_entries
            tell_leaders
            tell_members
        }
    };
}
pub(crate) use for_each_fact;

mod in_memory_facts {
    use super::InMemoryLog;

    macro_rules! test {
        ($($fact:ident)*) => {
            $(
                #[tokio::test]
                async fn $fact() {
                    super::$fact(&InMemoryLog::default()).await;
                }
            )*
        };
    }
    super::for_each_fact!(test);
}

pub(crate) async fn cluster_is_made_once(log: &impl Log) {
    assert_eq!(
        log.call(LogRequest::Charter).await.unwrap(),
        LogAnswer::Charter(None)
    );
    let a = LogClient::announced(log, "a").await;
    let other = Charter {
        cluster: 1,
        shards: 5,
    };
    assert_eq!(a.create_cluster(other).await, CHARTER);
    assert_eq!(
        a.ask(LogRequest::Charter).await,
        LogAnswer::Charter(Some(CHARTER))
    );
    let genesis = replica::genesis(CHARTER, SHARD).bytes;
    assert_eq!(a.first().await, (0, genesis.into()));
}

pub(crate) async fn entry_is_appended_in_its_place_only(log: &impl Log) {
    let a = LogClient::announced(log, "a").await;
    let fence = a.fence().await;
    let (one, two) = (entry("one"), entry("two"));
    assert_eq!(
        a.append(fence, 2, &two).await,
        AppendOutcome::Conflict,
        "a gap"
    );
    assert_eq!(a.append(fence, 1, &one).await, AppendOutcome::Done);
    assert_eq!(
        a.append(fence, 1, &two).await,
        AppendOutcome::Conflict,
        "taken"
    );
    assert_eq!(
        a.append(fence, 1, &one).await,
        AppendOutcome::Done,
        "repeated"
    );
    assert_eq!(a.append(fence, 2, &two).await, AppendOutcome::Done);
    assert_eq!(a.append(fence, 0, &one).await, AppendOutcome::Conflict);
    let tail = a.tail(1).await;
    assert_eq!(tail.entries, [(1, one), (2, two)]);
    assert_eq!((tail.first, tail.last), (0, 2));
}

pub(crate) async fn entry_that_is_there_is_done_whoever_leads(log: &impl Log) {
    let (a, b) = (
        LogClient::announced(log, "a").await,
        LogClient::announced(log, "b").await,
    );
    let fence = a.fence().await;
    assert_eq!(a.append(fence, 1, &entry("one")).await, AppendOutcome::Done);
    a.resign(fence).await;
    assert_eq!(a.append(fence, 1, &entry("one")).await, AppendOutcome::Done);
    b.fence().await;
    assert_eq!(a.append(fence, 1, &entry("one")).await, AppendOutcome::Done);
}

pub(crate) async fn entry_of_an_ended_leadership_is_refused(log: &impl Log) {
    let (a, b) = (
        LogClient::announced(log, "a").await,
        LogClient::announced(log, "b").await,
    );
    let old = a.fence().await;
    a.resign(old).await;
    assert_eq!(a.append(old, 1, &entry("one")).await, AppendOutcome::Fenced);
    let new = b.fence().await;
    assert!(new.epoch > old.epoch);
    assert_eq!(a.append(old, 1, &entry("one")).await, AppendOutcome::Fenced);
    assert_eq!(b.append(new, 1, &entry("two")).await, AppendOutcome::Done);
    assert_eq!(a.append(old, 1, &entry("one")).await, AppendOutcome::Fenced);
    assert_eq!(a.append(old, 2, &entry("one")).await, AppendOutcome::Fenced);
}

pub(crate) async fn shard_has_one_leader(log: &impl Log) {
    let (a, b) = (
        LogClient::announced(log, "a").await,
        LogClient::announced(log, "b").await,
    );
    let leader = a.lead().await.unwrap();
    assert_eq!(b.lead().await, Some(leader.clone()));
    assert_eq!(a.lead().await, Some(leader.clone()), "repeated");
    assert_eq!(b.tail(0).await.leader.map(|led| led.leader), Some(leader));
}

pub(crate) async fn leadership_ends_only_by_its_own_fence(log: &impl Log) {
    let (a, b) = (
        LogClient::announced(log, "a").await,
        LogClient::announced(log, "b").await,
    );
    let old = a.fence().await;
    a.resign(old).await;
    a.resign(old).await;
    assert_eq!(a.tail(0).await.leader, None);
    let new = b.fence().await;
    a.resign(old).await;
    assert_eq!(a.tail(0).await.leader.unwrap().leader.epoch, new.epoch);
}

pub(crate) async fn report_needs_the_announced_lease(log: &impl Log) {
    let (a, b) = (
        LogClient::announced(log, "a").await,
        LogClient::announced(log, "b").await,
    );
    a.join().await;
    b.join().await;
    a.leave().await;
    assert!(!a.report(3).await);
    assert_eq!(
        (a.reports().await, a.tail(0).await.reported),
        (vec![], None)
    );
    assert_eq!(a.announce(0).await, AnnounceOutcome::Done);
    assert!(a.report(3).await && b.report(5).await && a.report(2).await);
    let earlier = LogClient::new(log, "a").await;
    assert!(!earlier.report(9).await);
    let reports = [("a".into(), 2), ("b".into(), 5)];
    assert_eq!(a.reports().await, reports);
    assert_eq!(a.tail(0).await.reported, Some(2));
    assert_eq!(b.tail(0).await.reported, Some(5));
    let c = LogClient::announced(log, "c").await;
    assert_eq!(c.tail(0).await.reported, None);
}

pub(crate) async fn report_of_a_node_that_was_removed_does_not_come_back(log: &impl Log) {
    let (a, b) = (
        LogClient::announced(log, "a").await,
        LogClient::announced(log, "b").await,
    );
    assert!(!b.report(7).await, "it never was a member");
    b.join().await;
    assert!(b.report(7).await);
    a.remove("b").await;
    assert!(!b.report(8).await, "it still runs");
    assert_eq!(a.reports().await, []);
    b.join().await;
    assert_eq!(
        (a.reports().await, b.tail(0).await.reported),
        (vec![], None)
    );
    assert!(b.report(2).await);
    b.join().await;
    assert_eq!(a.reports().await, [("b".into(), 2)], "it was a member");
}

pub(crate) async fn tail_is_read_in_parts(log: &impl Log) {
    const LAST: u64 = 130;
    let a = LogClient::announced(log, "a").await;
    let fence = a.fence().await;
    for seq in 1..=LAST {
        // The longest are as long as etcd allows, almost.
        let length = match seq {
            40..45 | 120..124 => 1_500_000,
            80.. => 10,
            _ if seq % 8 < 5 => 10,
            _ => 260_000,
        };
        let entry = vec![u8::try_from(seq).unwrap(); length].into();
        assert_eq!(a.append(fence, seq, &entry).await, AppendOutcome::Done);
    }
    // After many short ones, the long ones are not expected.
    for begin in [0, 80] {
        let (mut from, mut parts) = (begin, 0);
        while from <= LAST {
            let tail = a.tail(from).await;
            let first = from.saturating_sub(1);
            assert_eq!((tail.first, tail.last), (first, LAST));
            let bytes: usize = tail.entries.iter().map(|(_, entry)| entry.len()).sum();
            assert!(bytes < 4 << 20, "{bytes}");
            assert!(!tail.entries.is_empty());
            for (seq, entry) in &tail.entries {
                assert_eq!(*seq, from);
                assert!(from == 0 || u64::from(entry[0]) == from);
                from += 1;
            }
            parts += 1;
        }
        assert!(parts > 1);
    }
    for (beyond, first) in [(LAST + 1, LAST), (LAST + 2, 0), (1_000, 0), (u64::MAX, 0)] {
        let tail = a.tail(beyond).await;
        assert_eq!((tail.first, tail.last), (first, LAST), "{beyond}");
        assert_eq!(tail.entries, []);
    }
}

pub(crate) async fn trimmed_entries_do_not_come_back(log: &impl Log) {
    let a = LogClient::announced(log, "a").await;
    let fence = a.fence().await;
    for seq in 1..=5 {
        assert_eq!(
            a.append(fence, seq, &entry("it")).await,
            AppendOutcome::Done
        );
    }
    a.trim(0, 3).await;
    a.trim(3, 4).await;
    // Late and repeated.
    for (from, below) in [(0, 2), (3, 4), (0, 4), (4, 4), (4, 2)] {
        a.trim(from, below).await;
    }
    for from in [0, 3, 4] {
        assert_eq!(a.first_from(from).await, (4, entry("it")));
    }
    for (from, first) in [
        (0, 4),
        (3, 4),
        (4, 4),
        (5, 4),
        (6, 5),
        (7, 4),
        (u64::MAX, 4),
    ] {
        let tail = a.tail(from).await;
        assert_eq!((tail.first, tail.last), (first, 5), "{from}");
        let entries = 6_u64.saturating_sub(from.max(4));
        assert_eq!(tail.entries.len() as u64, entries, "{from}");
    }
    for late in 1..=3 {
        assert_eq!(
            a.append(fence, late, &entry("it")).await,
            AppendOutcome::Conflict
        );
    }
    assert_eq!(a.append(fence, 6, &entry("it")).await, AppendOutcome::Done);
    let tail = a.tail(0).await;
    let places: Vec<u64> = tail.entries.iter().map(|(seq, _)| *seq).collect();
    assert_eq!((tail.first, tail.last, places), (4, 6, vec![4, 5, 6]));
}

pub(crate) async fn members_are_permanent(log: &impl Log) {
    let (a, b) = (
        LogClient::announced(log, "a").await,
        LogClient::announced(log, "b").await,
    );
    assert_eq!(a.members().await, []);
    b.join().await;
    a.join().await;
    a.join().await;
    assert!(b.report(7).await);
    a.leave().await;
    let membership = |name, heartbeat| Membership {
        member: member(name),
        heartbeat,
        missing_links: [].into(),
    };
    let heartbeat = b.heartbeat_of("b").await;
    assert!(heartbeat.is_some());
    let both = [membership("a", None), membership("b", heartbeat)];
    assert_eq!(a.members().await, both);
    a.remove("b").await;
    a.remove("b").await;
    assert_eq!(a.members().await, [membership("a", None)]);
    assert_eq!(a.reports().await, []);
}

pub(crate) async fn a_sign_of_life_tells_which_links_are_missing(log: &impl Log) {
    let a = LogClient::announced(log, "a").await;
    a.join().await;
    let missing_link = |node: &str| MissingLink {
        to: node.into(),
        why: "\"tls\" is wrong: use \u{fc}".into(),
        versions_differ: node == "c",
    };
    let missing: Arc<[MissingLink]> = [missing_link("b"), missing_link("c")].into();
    let missing_links = async || a.members().await[0].missing_links.clone();
    assert_eq!(*missing_links().await, []);
    assert!(a.keep_alive_without(missing.clone()).await);
    assert_eq!(missing_links().await, missing);
    let late = LogClient {
        lease: LeaseId(a.lease.0 + 1),
        ..a
    };
    assert!(!late.keep_alive_without([].into()).await);
    assert_eq!(missing_links().await, missing, "it is of another process");
    assert!(a.keep_alive().await);
    assert_eq!(*missing_links().await, []);
    assert!(a.keep_alive_without(missing).await);
    let heartbeat = a.heartbeat_of("a").await.expect("it has one");
    assert_eq!(a.lead().await.expect("it leads").lease, a.lease);
    assert_eq!(
        late.announce(heartbeat.revision).await,
        AnnounceOutcome::Done
    );
    assert_eq!(*missing_links().await, [], "it begins anew");
}

pub(crate) async fn only_a_member_moves(log: &impl Log) {
    let a = LogClient::announced(log, "a").await;
    a.change_address("a2.example:7000").await;
    assert_eq!(a.members().await, []);
    a.join().await;
    a.change_address("a2.example:7000").await;
    let addresses = async || {
        let members = a.members().await.into_iter();
        members
            .map(|it| it.member.address.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(addresses().await, ["a2.example:7000"]);
    a.remove("a").await;
    a.change_address("a3.example:7000").await;
    assert_eq!(a.members().await, []);
}
