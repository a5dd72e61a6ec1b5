//! The keys, all below `/hd/`. Numbers have a fixed width, so keys sort as their numbers do.
//!
//! ```text
//! /hd/charter                             what the cluster is
//! /hd/nodes/{node}                        a member
//! /hd/alive/{node}                        the heartbeat of a node
//! /hd/{shard}/lead                        a leadership
//! /hd/{shard}/at/{node}                   what a node has reported
//! /hd/{shard}/j/{seq}                     an entry
//! ```

use crate::ShardId;

/// Everything.
pub(super) const ALL: &str = "/hd/";
/// The charter of the cluster.
pub(super) const CHARTER: &str = "/hd/charter";
/// The members.
pub(super) const NODES: &str = "/hd/nodes/";
/// The heartbeats.
pub(super) const ALIVE: &str = "/hd/alive/";
/// Everything of the shards: from here, and up to there.
pub(super) const SHARDS: (&str, &str) = ("/hd/0", "/hd/:");

/// Returns the key of a member.
pub(super) fn node(node: &str) -> String {
    format!("{NODES}{node}")
}

/// Returns the key of a heartbeat.
pub(super) fn heartbeat(node: &str) -> String {
    format!("{ALIVE}{node}")
}

/// Returns the key of a leadership.
pub(super) fn leader(shard: ShardId) -> String {
    format!("/hd/{:05}/lead", shard.0)
}

/// Returns the prefix of what the nodes have reported.
pub(super) fn reports(shard: ShardId) -> String {
    format!("/hd/{:05}/at/", shard.0)
}

/// Returns the key of what a node has reported.
pub(super) fn report(shard: ShardId, node: &str) -> String {
    reports(shard) + node
}

/// Returns the prefix of the entries.
pub(super) fn journal(shard: ShardId) -> String {
    format!("/hd/{:05}/j/", shard.0)
}

/// Returns the first key after all entries.
pub(super) fn journal_end(shard: ShardId) -> String {
    format!("/hd/{:05}/j0", shard.0)
}

/// Returns the key of an entry.
pub(super) fn entry(shard: ShardId, seq: u64) -> String {
    format!("{}{seq:020}", journal(shard))
}

/// A parsed key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EtcdKey<'a> {
    /// The charter of the cluster.
    Charter,
    /// A member.
    Node(&'a str),
    /// A heartbeat.
    Alive(&'a str),
    /// A leadership.
    Lead(ShardId),
    /// The report of a node.
    Report(ShardId, &'a str),
    /// An entry.
    Entry(ShardId, u64),
}

impl<'a> EtcdKey<'a> {
    /// Parses a key. `None`: it is no key of a cluster.
    pub(super) fn parse(key: &'a [u8]) -> Option<Self> {
        let key = std::str::from_utf8(key).ok()?.strip_prefix(ALL)?;
        let (first, rest) = match key.split_once('/') {
            Some(parts) => parts,
            None => return (key == "charter").then_some(Self::Charter),
        };
        match first {
            "nodes" => return Some(Self::Node(rest)),
            "alive" => return Some(Self::Alive(rest)),
            _ => {}
        }
        let shard = ShardId(number(first, 5)?.try_into().ok()?);
        match rest.split_once('/') {
            None => (rest == "lead").then_some(Self::Lead(shard)),
            Some(("at", node)) => Some(Self::Report(shard, node)),
            Some(("j", seq)) => Some(Self::Entry(shard, number(seq, 20)?)),
            Some(_) => None,
        }
    }
}

/// Reads a number of exactly `width` digits.
fn number(digits: &str, width: usize) -> Option<u64> {
    let is_number = digits.len() == width && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testkit::cases(256)))]

        #[test]
        fn a_key_is_read_as_it_was_written(shard: u16, seq: u64, name in "[a-z/.0-9]{0,12}") {
            let shard = ShardId(shard);
            let cases = [
                (CHARTER.to_owned(), EtcdKey::Charter),
                (node(&name), EtcdKey::Node(&name)),
                (heartbeat(&name), EtcdKey::Alive(&name)),
                (leader(shard), EtcdKey::Lead(shard)),
                (report(shard, &name), EtcdKey::Report(shard, &name)),
                (entry(shard, seq), EtcdKey::Entry(shard, seq)),
            ];
            for (key, means) in cases {
                prop_assert_eq!(EtcdKey::parse(key.as_bytes()), Some(means));
                prop_assert!(key.starts_with(ALL));
            }
            let shards = SHARDS.0.to_owned()..SHARDS.1.to_owned();
            for key in [leader(shard), report(shard, &name), entry(shard, seq)] {
                prop_assert!(shards.contains(&key));
            }
            for key in [CHARTER.to_owned(), node(&name), heartbeat(&name)] {
                prop_assert!(!shards.contains(&key));
            }
        }

        #[test]
        fn keys_sort_as_numbers_do(a: (u16, u64), b: (u16, u64)) {
            let of = |(shard, seq)| entry(ShardId(shard), seq);
            prop_assert_eq!(of(a).cmp(&of(b)), a.cmp(&b));
            let shard = ShardId(a.0);
            prop_assert!(of(a) > journal(shard) && of(a) < journal_end(shard));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let key = [ALL.as_bytes(), &bytes].concat();
            let _whatever = (EtcdKey::parse(&bytes), EtcdKey::parse(&key));
        }
    }

    #[test]
    fn other_keys_stand_for_nothing() {
        let others = [
            "",
            "/hd",
            "/hd/",
            "/hd/x",
            "/hd/1/lead",
            "/hd/00001",
            "/hd/00001/",
            "/hd/00001/lead/",
            "/hd/00001/j/1",
            "/hd/00001/j/+0000000000000000001",
            "/hd/99999/lead",
            "/hd/00001/j/99999999999999999999",
            "/hd/+0001/lead",
            "/xx/charter",
        ];
        for other in others {
            assert_eq!(EtcdKey::parse(other.as_bytes()), None, "{other}");
        }
    }
}
