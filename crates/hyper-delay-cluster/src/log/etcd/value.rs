//! The values: small JSON, for people with `etcdctl`.

use std::{borrow::Cow, sync::Arc, time::Duration};

use hyper_delay_etcd::KeyValue;
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    error::EtcdError,
    key::{self, EtcdKey},
};
use crate::{
    Charter,
    log::{Heartbeat, Leader, LeaderAndHeartbeat, LeaseId, Member, MissingLink, NodeName},
};

/// The value of a leadership.
#[derive(Serialize, Deserialize)]
struct LeaderValue<'a> {
    #[serde(borrow)]
    node: Cow<'a, str>,
    #[serde(borrow)]
    address: Cow<'a, str>,
    #[serde(borrow)]
    lease: Cow<'a, str>,
}

/// The value of a heartbeat. The lease comes first: see [`lease_bounds`].
#[derive(Serialize, Deserialize)]
struct HeartbeatValue<'a> {
    /// In hexadecimal digits, because few programs read a JSON number with 64 bits.
    #[serde(borrow)]
    lease: Cow<'a, str>,
    ttl_ms: u64,
    #[serde(borrow)]
    address: Cow<'a, str>,
    #[serde(
        default,
        skip_serializing_if = "<[MissingLink]>::is_empty",
        deserialize_with = "if_understood"
    )]
    missing_links: Arc<[MissingLink]>,
}

/// People read the missing links, and nothing else depends on them: those of another version that are
/// written differently do not make the heartbeat unreadable.
fn if_understood<'de, D: Deserializer<'de>>(input: D) -> Result<Arc<[MissingLink]>, D::Error> {
    let value = serde_json::Value::deserialize(input)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// A decoded heartbeat.
pub(super) struct DecodedHeartbeat {
    pub(super) heartbeat: Heartbeat,
    /// The links that the node does not have.
    pub(super) missing_links: Arc<[MissingLink]>,
}

/// The value of a member.
#[derive(Serialize, Deserialize)]
struct MemberValue<'a> {
    #[serde(borrow)]
    address: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct CharterValue<'a> {
    /// In hexadecimal digits, because few programs read a JSON number with 128 bits.
    #[serde(borrow)]
    cluster: Cow<'a, str>,
    shards: u16,
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("it has no maps, and writing to memory does not fail")
}

/// Returns the value of a leadership.
pub(super) fn encode_leader(member: &Member, lease: LeaseId) -> Vec<u8> {
    json(&LeaderValue {
        node: (&*member.node).into(),
        address: (&*member.address).into(),
        lease: digits(lease).into(),
    })
}

/// Returns the value of a heartbeat.
pub(super) fn encode_heartbeat(
    member: &Member,
    lease: LeaseId,
    ttl: Duration,
    missing_links: &[MissingLink],
) -> Vec<u8> {
    json(&HeartbeatValue {
        lease: digits(lease).into(),
        ttl_ms: u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
        address: (&*member.address).into(),
        missing_links: missing_links.into(),
    })
}

/// Returns a value before those of all heartbeats of a lease, and one after them. No other
/// heartbeat is between them, so two comparisons tell whether a heartbeat is of the lease.
pub(super) fn lease_bounds(lease: LeaseId) -> (String, String) {
    let begin = format!(r#"{{"lease":"{}"#, digits(lease));
    (format!("{begin}\""), format!("{begin}#"))
}

fn digits(LeaseId(lease): LeaseId) -> String {
    format!("{lease:016x}")
}

fn lease(kv: &KeyValue, digits: &str, cure: &str) -> Result<LeaseId, EtcdError> {
    let lease = u64::from_str_radix(digits, 16).map_err(|_| EtcdError::value(kv, cure));
    Ok(LeaseId(lease?))
}

/// Returns the value of a member.
pub(super) fn encode_member(member: &Member) -> Vec<u8> {
    json(&MemberValue {
        address: (&*member.address).into(),
    })
}

/// Returns the value of what a node has reported.
pub(super) fn encode_report(synced: u64) -> Vec<u8> {
    json(&synced)
}

/// Returns the value of what the cluster is.
pub(super) fn encode_charter(charter: Charter) -> Vec<u8> {
    json(&CharterValue {
        cluster: format!("{:032x}", charter.cluster).into(),
        shards: charter.shards,
    })
}

/// Reads a leadership.
pub(super) fn decode_leader(kv: &KeyValue) -> Result<Leader, EtcdError> {
    const CURE: &str = "delete it, and a node leads the shard again";
    let LeaderValue {
        node,
        address,
        lease: digits,
    } = parse(kv, CURE)?;
    Ok(Leader {
        member: Member {
            node: node.into(),
            address: address.into(),
        },
        epoch: kv.mod_revision(),
        lease: lease(kv, &digits, CURE)?,
    })
}

/// Reads a leader, and finds the heartbeat of its node.
pub(super) fn decode_leader_and_heartbeat(
    kv: &KeyValue,
    alive: &[KeyValue],
) -> Result<LeaderAndHeartbeat, EtcdError> {
    let leader = decode_leader(kv)?;
    let heartbeat = find_heartbeat(&leader.member.node, alive)?.map(|it| it.heartbeat);
    Ok(LeaderAndHeartbeat { leader, heartbeat })
}

/// Finds the heartbeat of a node, with its missing links.
pub(super) fn find_heartbeat(
    node: &str,
    alive: &[KeyValue],
) -> Result<Option<DecodedHeartbeat>, EtcdError> {
    let mut alive = alive.iter();
    let alive = alive.find(|kv| EtcdKey::parse(kv.key()) == Some(EtcdKey::Alive(node)));
    alive.map(decode_heartbeat).transpose()
}

/// Reads a heartbeat, with the missing links of its node.
pub(super) fn decode_heartbeat(kv: &KeyValue) -> Result<DecodedHeartbeat, EtcdError> {
    const CURE: &str = "stop its node, delete it, and start the node again";
    let HeartbeatValue {
        lease: digits,
        ttl_ms,
        missing_links,
        address: _,
    } = parse(kv, CURE)?;
    let heartbeat = Heartbeat {
        revision: kv.mod_revision(),
        lease: lease(kv, &digits, CURE)?,
        ttl: Duration::from_millis(ttl_ms),
    };
    Ok(DecodedHeartbeat {
        heartbeat,
        missing_links,
    })
}

/// Reads a member.
pub(super) fn decode_member(kv: &KeyValue) -> Result<Member, EtcdError> {
    const CURE: &str = "delete it, and let the node join the cluster again";
    let Some(EtcdKey::Node(node)) = EtcdKey::parse(kv.key()) else {
        return Err(EtcdError::value(kv, CURE));
    };
    let MemberValue { address } = parse(kv, CURE)?;
    Ok(Member {
        node: node.into(),
        address: address.into(),
    })
}

/// Reads what a node has reported.
pub(super) fn decode_report(kv: &KeyValue) -> Result<(NodeName, u64), EtcdError> {
    const CURE: &str = "delete it, and the node reports again";
    match EtcdKey::parse(kv.key()) {
        Some(EtcdKey::Report(_, node)) => Ok((node.into(), parse(kv, CURE)?)),
        _ => Err(EtcdError::value(kv, CURE)),
    }
}

/// Reads what the cluster is.
pub(super) fn decode_charter(kv: &KeyValue) -> Result<Charter, EtcdError> {
    let cure = format!("restore {} from a backup of etcd", key::CHARTER);
    let CharterValue { cluster, shards } = parse(kv, &cure)?;
    match u128::from_str_radix(&cluster, 16) {
        Ok(cluster) => Charter::new(cluster, shards).map_err(|_| EtcdError::value(kv, &cure)),
        Err(_) => Err(EtcdError::value(kv, &cure)),
    }
}

/// Reads the place of an entry.
pub(super) fn decode_seq(kv: &KeyValue) -> Result<u64, EtcdError> {
    match EtcdKey::parse(kv.key()) {
        Some(EtcdKey::Entry(_, seq)) => Ok(seq),
        _ => Err(EtcdError::value(kv, "delete it")),
    }
}

fn parse<'a, T: Deserialize<'a>>(kv: &'a KeyValue, cure: &str) -> Result<T, EtcdError> {
    serde_json::from_slice(kv.value()).map_err(|_| EtcdError::value(kv, cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_links_of_another_version_leave_the_rest() {
        let value = |links: &str| {
            let text = format!(r#"{{"lease":"0a","ttl_ms":2000,"address":"a:1"{links}}}"#);
            let alive: HeartbeatValue<'_> = serde_json::from_str(&text).unwrap();
            (alive.ttl_ms, alive.missing_links.len())
        };
        for (links, number) in [
            ("", 0),
            (r#","missing_links":[]"#, 0),
            (r#","missing_links":{"b":1}"#, 0),
            (r#","missing_links":[{"to":"b"}]"#, 0),
            (
                r#","more":1,"missing_links":[{"to":"b","why":"x","versions_differ":true,"more":1}]"#,
                1,
            ),
        ] {
            assert_eq!(value(links), (2_000, number), "{links}");
        }
    }
}
