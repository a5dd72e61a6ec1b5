//! A log in memory, for tests: what etcd does with the requests, at the moment they reach it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{
    AnnounceOutcome, AppendOutcome, Fence, Heartbeat, JournalTail, Leader, LeaderAndHeartbeat,
    LeaseId, LogAnswer, LogRequest, Member, Membership, MissingLink, NodeName, Takeover,
};
use crate::{Charter, ShardId, replica};

/// The most bytes of one part of a journal, unless its first entry is longer.
const PAGE: usize = 2_000;

#[derive(Debug)]
struct FakeHeartbeat {
    heartbeat: Heartbeat,
    missing_links: Arc<[MissingLink]>,
}

/// A log in memory. It has no clock, only revisions.
#[derive(Debug, Default)]
pub(crate) struct FakeLog {
    revision: u64,
    alive: BTreeMap<NodeName, FakeHeartbeat>,
    charter: Option<Charter>,
    members: BTreeMap<NodeName, Member>,
    shards: BTreeMap<ShardId, FakeShard>,
    /// Whether appends are let through whatever the leadership is: a planted fault.
    pub(crate) ignores_fences: bool,
    /// Whether a leadership is taken over from a node that lives: a planted fault.
    pub(crate) ignores_heartbeats: bool,
    /// Whether heartbeats name half of the time that their lease lasts: a planted fault.
    pub(crate) leases_look_short: bool,
    /// Whether a report that is lower than the one before is not noted: a planted fault.
    pub(crate) keeps_highest_reports: bool,
}

/// The contents of the log for a shard.
#[derive(Debug, Default)]
pub(crate) struct FakeShard {
    pub(crate) leader: Option<Leader>,
    pub(crate) journal: BTreeMap<u64, Arc<[u8]>>,
    pub(crate) reports: BTreeMap<NodeName, u64>,
}

impl FakeLog {
    /// Makes the journal of a shard, with its first entry.
    pub(crate) fn create(&mut self, shard: ShardId, genesis: Vec<u8>) {
        let shard = self.shards.entry(shard).or_default();
        shard.journal.insert(0, genesis.into());
    }

    /// Returns the revision of the last request.
    pub(crate) const fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the contents for a shard.
    pub(crate) fn shard(&self, shard: ShardId) -> &FakeShard {
        &self.shards[&shard]
    }

    /// Returns the contents for all shards.
    pub(crate) fn shards(&self) -> impl Iterator<Item = (ShardId, &FakeShard)> {
        self.shards.iter().map(|(id, shard)| (*id, shard))
    }

    /// Returns the members of the cluster.
    pub(crate) const fn members(&self) -> &BTreeMap<NodeName, Member> {
        &self.members
    }

    /// Returns the place of the last entry of a journal.
    pub(crate) fn last(&self, shard: ShardId) -> u64 {
        let last = self.shard(shard).journal.last_key_value();
        *last.expect("a journal is never empty").0
    }

    /// Carries out a request.
    pub(crate) fn carry_out(&mut self, request: &LogRequest) -> LogAnswer {
        self.revision += 1;
        match request {
            LogRequest::Announce {
                member,
                lease,
                ttl,
                replaces: over,
            } => {
                let there = self.alive.get(&member.node);
                if there.map_or(0, |it| it.heartbeat.revision) == *over {
                    self.put_heartbeat(member, *lease, *ttl, [].into());
                }
                LogAnswer::Announced(match self.heartbeat_of(&member.node) {
                    Some(heartbeat) if heartbeat.lease == *lease => AnnounceOutcome::Done,
                    heartbeat => AnnounceOutcome::Not(heartbeat),
                })
            }
            LogRequest::KeepAlive {
                member,
                lease,
                ttl,
                missing_links,
            } => {
                let is_alive = self.has_lease(&member.node, *lease);
                if is_alive {
                    self.put_heartbeat(member, *lease, *ttl, missing_links.clone());
                }
                LogAnswer::Alive(is_alive)
            }
            LogRequest::Leave { node, lease } => {
                self.alive
                    .retain(|of, it| of != node || it.heartbeat.lease != *lease);
                LogAnswer::Done
            }
            LogRequest::Lead {
                shard,
                lease,
                member,
                takeover: over,
            } => LogAnswer::Leader(self.lead(*shard, *lease, member, over.as_ref())),
            LogRequest::Resign(fence) => {
                let shard = self.shards.entry(fence.shard).or_default();
                if is_led_by(shard, fence) {
                    shard.leader = None;
                }
                LogAnswer::Done
            }
            LogRequest::Append { fence, seq, entry } => {
                LogAnswer::Appended(self.append(fence, *seq, entry))
            }
            LogRequest::Tail { shard, from, node } => {
                LogAnswer::Tail(self.tail(*shard, *from, node))
            }
            LogRequest::First { shard, from } => {
                let mut journal = self.shards[shard].journal.range(from..);
                let (seq, entry) = journal.next().expect("a journal is never empty");
                LogAnswer::First(*seq, entry.clone())
            }
            LogRequest::Trim { shard, from, below } => {
                let journal = &mut self.shards.entry(*shard).or_default().journal;
                journal.retain(|seq, _| !(*from..*below).contains(seq));
                LogAnswer::Done
            }
            LogRequest::Report {
                shard,
                node,
                lease,
                synced,
            } => {
                let is_current = self.has_lease(node, *lease) && self.members.contains_key(node);
                if is_current {
                    let reports = &mut self.shards.entry(*shard).or_default().reports;
                    let before = reports.insert(node.clone(), *synced);
                    if self.keeps_highest_reports {
                        reports.insert(node.clone(), before.unwrap_or(0).max(*synced));
                    }
                }
                LogAnswer::Reported(is_current)
            }
            LogRequest::Reports(shard) => {
                let reports = self.shards[shard].reports.iter();
                LogAnswer::Reports(reports.map(|(node, seq)| (node.clone(), *seq)).collect())
            }
            LogRequest::CreateCluster(charter) => {
                LogAnswer::ClusterCreated(self.create_cluster(*charter))
            }
            LogRequest::Charter => LogAnswer::Charter(self.charter),
            LogRequest::Join(member) => {
                let node = &member.node;
                if self.members.insert(node.clone(), member.clone()).is_none() {
                    self.forget_reports(node);
                }
                LogAnswer::Done
            }
            LogRequest::ChangeAddress(member) => {
                if let Some(known) = self.members.get_mut(&member.node) {
                    known.clone_from(member);
                }
                LogAnswer::Done
            }
            LogRequest::Remove(node) => {
                self.members.remove(node);
                self.forget_reports(node);
                LogAnswer::Done
            }
            LogRequest::Members => {
                let members = self.members.values().map(|member| Membership {
                    member: member.clone(),
                    heartbeat: self.heartbeat_of(&member.node),
                    missing_links: self
                        .alive
                        .get(&member.node)
                        .map(|it| it.missing_links.clone())
                        .unwrap_or_default(),
                });
                LogAnswer::Members(members.collect())
            }
        }
    }

    fn forget_reports(&mut self, node: &NodeName) {
        for shard in self.shards.values_mut() {
            shard.reports.remove(node);
        }
    }

    fn put_heartbeat(
        &mut self,
        member: &Member,
        lease: LeaseId,
        ttl: Duration,
        missing_links: Arc<[MissingLink]>,
    ) {
        let heartbeat = Heartbeat {
            revision: self.revision,
            lease,
            ttl,
        };
        let stored = FakeHeartbeat {
            heartbeat,
            missing_links,
        };
        self.alive.insert(member.node.clone(), stored);
    }

    /// Returns whether the heartbeat of a node is of a lease.
    fn has_lease(&self, node: &NodeName, lease: LeaseId) -> bool {
        self.alive
            .get(node)
            .is_some_and(|it| it.heartbeat.lease == lease)
    }

    /// Returns the heartbeat of a node, as requests see it.
    fn heartbeat_of(&self, node: &NodeName) -> Option<Heartbeat> {
        let mut heartbeat = self.alive.get(node)?.heartbeat;
        if self.leases_look_short {
            heartbeat.ttl /= 2;
        }
        Some(heartbeat)
    }

    fn leader_and_heartbeat(&self, leader: &Leader) -> LeaderAndHeartbeat {
        LeaderAndHeartbeat {
            leader: leader.clone(),
            heartbeat: self.heartbeat_of(&leader.member.node),
        }
    }

    fn lead(
        &mut self,
        shard: ShardId,
        lease: LeaseId,
        member: &Member,
        over: Option<&Takeover>,
    ) -> Option<LeaderAndHeartbeat> {
        let leader = self.shards.entry(shard).or_default().leader.clone();
        let is_over = leader.as_ref().map(|leader| leader.epoch) == over.map(|over| over.epoch);
        let silence = over.and_then(|over| over.silence.as_ref());
        let is_silent = silence.is_none_or(|silence| {
            let heartbeat = self.alive.get(&silence.node);
            heartbeat.map_or(0, |it| it.heartbeat.revision) == silence.revision
        });
        if !is_over
            || !(is_silent || self.ignores_heartbeats)
            || !self.has_lease(&member.node, lease)
        {
            return leader.map(|leader| self.leader_and_heartbeat(&leader));
        }
        let leader = Leader {
            member: member.clone(),
            epoch: self.revision,
            lease,
        };
        let led = self.leader_and_heartbeat(&leader);
        self.shards.entry(shard).or_default().leader = Some(leader);
        Some(led)
    }

    fn create_cluster(&mut self, charter: Charter) -> Charter {
        if let Some(charter) = self.charter {
            return charter;
        }
        for shard in (0..charter.shards).map(ShardId) {
            self.create(shard, replica::genesis(charter, shard).bytes);
        }
        *self.charter.insert(charter)
    }

    fn append(&mut self, fence: &Fence, seq: u64, entry: &Arc<[u8]>) -> AppendOutcome {
        let ignores_fences = self.ignores_fences;
        let shard = self.shards.entry(fence.shard).or_default();
        match shard.journal.get(&seq) {
            Some(there) if there == entry => AppendOutcome::Done,
            _ if !ignores_fences && !is_led_by(shard, fence) => AppendOutcome::Fenced,
            None if seq > 0 && shard.journal.contains_key(&(seq - 1)) => {
                shard.journal.insert(seq, entry.clone());
                AppendOutcome::Done
            }
            _ => AppendOutcome::Conflict,
        }
    }

    fn tail(&self, shard: ShardId, from: u64, node: &NodeName) -> JournalTail {
        let shard = &self.shards[&shard];
        let seq = |entry: Option<(&u64, _)>| entry.map(|(seq, _)| *seq).unwrap_or_default();
        let mut bytes = 0;
        let entries = shard.journal.range(from..).take_while(|(_, entry)| {
            let is_first = bytes == 0;
            bytes += entry.len();
            is_first || bytes <= PAGE
        });
        let before = from.saturating_sub(1);
        let has_before = shard.journal.contains_key(&before);
        JournalTail {
            leader: shard
                .leader
                .as_ref()
                .map(|leader| self.leader_and_heartbeat(leader)),
            reported: shard.reports.get(node).copied(),
            first: match has_before {
                true => before,
                false => seq(shard.journal.first_key_value()),
            },
            last: seq(shard.journal.last_key_value()),
            entries: entries.map(|(seq, entry)| (*seq, entry.clone())).collect(),
        }
    }
}

fn is_led_by(shard: &FakeShard, fence: &Fence) -> bool {
    let leader = shard.leader.as_ref();
    leader.is_some_and(|leader| leader.epoch == fence.epoch)
}
