//! The status of a cluster.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use serde::{Serialize, Serializer};

use super::{Admin, AdminError, Liveness};
use crate::{
    Charter, ShardId, entry,
    log::{JournalTail, Log, Membership, MissingLink},
};

/// The status of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClusterStatus {
    /// Its charter.
    #[serde(serialize_with = "id", rename = "cluster")]
    pub charter: Charter,
    /// The members, by name.
    pub nodes: Vec<NodeStatus>,
    /// All shards.
    pub shards: Vec<ShardStatus>,
}

/// The status of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeStatus {
    /// Its name.
    pub node: String,
    /// Where other nodes reach it.
    pub address: String,
    /// Whether it lives.
    pub state: Liveness,
    /// The time to live of its lease in milliseconds. `None`: it has none.
    pub lease_ms: Option<u64>,
    /// The links to other nodes that it does not have, as of its heartbeat.
    pub missing_links: Arc<[MissingLink]>,
}

/// The status of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShardStatus {
    /// Its number.
    pub shard: u16,
    /// Its leader. `None`: there is none.
    pub leader: Option<LeaderStatus>,
    /// The places of the first and the last entry of its journal. `None`: see `error`.
    pub first: Option<u64>,
    /// The last one.
    pub last: Option<u64>,
    /// The bytes of its journal. `None`: its entries cannot be read, or it has changed meanwhile.
    pub bytes: Option<u64>,
    /// The last entry that each node has applied and synced.
    pub synced: BTreeMap<String, u64>,
    /// Why nothing of the shard is known: its keys are damaged.
    pub error: Option<String>,
}

/// The leader of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaderStatus {
    /// The node.
    pub node: String,
    /// Which leadership.
    pub epoch: u64,
    /// Whether it lives, and has led since its process began.
    pub alive: bool,
}

fn id<S: Serializer>(charter: &Charter, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{:032x}", charter.cluster))
}

impl<L: Log> Admin<L> {
    /// Returns the status of the cluster. Takes a lease if a node is silent. A shard whose keys are
    /// damaged does not hide the others.
    ///
    /// # Errors
    ///
    /// If the log does not answer, or there is no cluster.
    pub async fn status(&self) -> Result<ClusterStatus, AdminError> {
        let charter = self.cluster().await?;
        let liveness = self.liveness(|_| true).await?;
        let mut shards = Vec::new();
        for shard in (0..charter.shards).map(ShardId) {
            shards.push(match self.shard(shard, &liveness).await {
                Err(AdminError::Damage(error)) => ShardStatus {
                    shard: shard.0,
                    leader: None,
                    first: None,
                    last: None,
                    bytes: None,
                    synced: BTreeMap::new(),
                    error: Some(error.to_string()),
                },
                status => status?,
            });
        }
        Ok(ClusterStatus {
            charter,
            nodes: liveness.iter().map(node).collect(),
            shards,
        })
    }

    async fn shard(
        &self,
        shard: ShardId,
        liveness: &[(Membership, Liveness)],
    ) -> Result<ShardStatus, AdminError> {
        let tail = self.tail(shard, u64::MAX).await?;
        let bytes = self.bytes(shard, tail.last).await?;
        let reports = self.reports(shard).await?.into_iter();
        Ok(ShardStatus {
            shard: shard.0,
            leader: leader(&tail, liveness),
            first: Some(tail.first),
            last: Some(tail.last),
            bytes,
            synced: reports
                .map(|(node, synced)| (node.to_string(), synced))
                .collect(),
            error: None,
        })
    }

    /// Returns the bytes of a journal from its first entry to this one.
    async fn bytes(&self, shard: ShardId, last: u64) -> Result<Option<u64>, AdminError> {
        let (_, first) = self.first(shard).await?;
        let tail = self.tail(shard, last).await?;
        let last = tail.entries.iter().find(|(seq, _)| *seq == last);
        let offset = |entry: &[u8]| Some(entry::header(entry).ok()?.offset);
        let bytes = || {
            let (_, last) = last?;
            let end = offset(last)? + last.len() as u64;
            end.checked_sub(offset(&first)?)
        };
        Ok(bytes())
    }
}

fn node((it, life): &(Membership, Liveness)) -> NodeStatus {
    let millis = |ttl: std::time::Duration| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
    NodeStatus {
        node: it.member.node.to_string(),
        address: it.member.address.to_string(),
        state: *life,
        lease_ms: it.heartbeat.map(|heartbeat| millis(heartbeat.ttl)),
        missing_links: it.missing_links.clone(),
    }
}

fn leader(tail: &JournalTail, liveness: &[(Membership, Liveness)]) -> Option<LeaderStatus> {
    let current = tail.leader.as_ref()?;
    let member = &current.leader.member;
    let mut liveness = liveness.iter();
    let is_alive =
        liveness.any(|(it, life)| it.member.node == member.node && *life == Liveness::Alive);
    let is_current = current
        .heartbeat
        .is_some_and(|heartbeat| heartbeat.lease == current.leader.lease);
    Some(LeaderStatus {
        node: member.node.to_string(),
        epoch: current.leader.epoch,
        alive: is_alive && is_current,
    })
}

impl ClusterStatus {
    /// Returns the problems, each with its cure. Empty: every member is alive and reaches the
    /// others, and each shard has a living leader.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.nodes.is_empty() {
            problems.push(
                "the cluster has no members: add them with `hyper-delay cluster join`".to_owned(),
            );
        }
        for NodeStatus { node, state, .. } in &self.nodes {
            let what = match state {
                Liveness::Alive => continue,
                Liveness::Silent => "is silent",
                Liveness::Left => "does not run",
            };
            problems.push(format!(
                "node {node} {what}: start it, or remove it with `hyper-delay cluster remove {node}`"
            ));
        }
        let links = self.missing_links();
        let missing = links.filter(|(_, link)| !link.versions_differ);
        problems.extend(missing.map(|(node, link)| {
            let MissingLink { to, why, .. } = link;
            format!("node {node} has no link to node {to}; node {node} says: {why}")
        }));
        for ShardStatus { shard, error, .. } in &self.shards {
            problems.extend(
                error
                    .as_ref()
                    .map(|error| format!("shard {shard}: {error}")),
            );
        }
        let is_led = |shard: &ShardStatus| shard.leader.as_ref().is_some_and(|it| it.alive);
        let is_without = |shard: &&ShardStatus| shard.error.is_none() && !is_led(shard);
        let without = numbers(self.shards.iter().filter(is_without));
        if !without.is_empty() {
            problems.push(format!(
                "no living leader for shard {without}: a node that is alive takes it over after a \
                 lease; if that lasts, look at the logs of the nodes"
            ));
        }
        problems
    }

    /// Returns notes that are no problems.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let behind = |node: &&NodeStatus| {
            let lacks = |shard: &&ShardStatus| {
                let synced = shard.synced.get(&node.node);
                shard.first > synced.map(|synced| synced + 1).or(Some(0))
            };
            numbers(self.shards.iter().filter(lacks))
        };
        let nodes = self.nodes.iter().map(|node| (node, behind(&node)));
        let nodes = nodes.filter(|(_, shards)| !shards.is_empty());
        let links = self
            .missing_links()
            .filter(|(_, link)| link.versions_differ);
        let link_note = |(node, MissingLink { to, why, .. }): (&str, &MissingLink)| {
            format!("node {node} has no link to node {to} before its upgrade: {why}")
        };
        let note = |(node, shards): (&NodeStatus, String)| {
            format!(
                "node {} lacks entries of shard {shards} that the journal does not have any more: \
                 it needs a snapshot from another node",
                node.node
            )
        };
        nodes.map(note).chain(links.map(link_note)).collect()
    }

    /// Returns the links between nodes that live, with the node that does not have it.
    fn missing_links(&self) -> impl Iterator<Item = (&str, &MissingLink)> {
        let alive = || {
            self.nodes
                .iter()
                .filter(|node| node.state == Liveness::Alive)
        };
        let links =
            alive().flat_map(|node| node.missing_links.iter().map(|link| (&*node.node, link)));
        links.filter(move |(_, link)| alive().any(|node| node.node == *link.to))
    }
}

/// Lists the numbers of shards.
fn numbers<'a>(shards: impl Iterator<Item = &'a ShardStatus>) -> String {
    let mut text = String::new();
    for shard in shards {
        let comma = if text.is_empty() { "" } else { ", " };
        let _infallible = write!(text, "{comma}{}", shard.shard);
    }
    text
}
