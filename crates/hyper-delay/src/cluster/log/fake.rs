//! A log in memory, for tests: what etcd does with the requests, at the moment they reach it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use race_wheel::Tick;

use super::{
    Answer, Appended, Fence, Leader, LeaseId, Member, Membership, NodeName, Request, Tail,
};
use crate::{
    clock::nanos,
    cluster::{Charter, ShardId, replica},
};

/// The most bytes of one part of a journal, unless its first entry is longer.
const PAGE: usize = 2_000;

/// A log in memory. Its clock is given with each request.
#[derive(Debug, Default)]
pub(crate) struct FakeLog {
    revision: u64,
    leases: BTreeMap<LeaseId, Lease>,
    alive: BTreeMap<NodeName, LeaseId>,
    charter: Option<Charter>,
    members: BTreeMap<NodeName, Member>,
    shards: BTreeMap<ShardId, Shard>,
    /// Whether appends are let through whatever the leadership is: a planted fault.
    pub(crate) ignores_fences: bool,
    /// Whether leases end after half of their time: a planted fault.
    pub(crate) leases_are_short: bool,
}

#[derive(Debug)]
struct Lease {
    ttl: Duration,
    ends: Tick,
}

/// What the log keeps of a shard.
#[derive(Debug, Default)]
pub(crate) struct Shard {
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

    /// Returns what it keeps of a shard.
    pub(crate) fn shard(&self, shard: ShardId) -> &Shard {
        &self.shards[&shard]
    }

    /// Returns what it keeps of all shards.
    pub(crate) fn shards(&self) -> impl Iterator<Item = (ShardId, &Shard)> {
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

    /// Ends the leases whose time has passed.
    pub(crate) fn expire(&mut self, now: Tick) {
        let ended = self.leases.iter().filter(|(_, lease)| lease.ends <= now);
        let ended: Vec<LeaseId> = ended.map(|(id, _)| *id).collect();
        for lease in ended {
            self.end(lease);
        }
    }

    /// Gives every lease its whole time again, as a new leader of etcd does.
    pub(crate) fn extend_leases(&mut self, now: Tick) {
        for lease in self.leases.values_mut() {
            lease.ends = now + nanos(lease.ttl);
        }
    }

    /// Carries out a request.
    pub(crate) fn carry_out(&mut self, request: &Request, now: Tick) -> Answer {
        self.expire(now);
        self.revision += 1;
        match request {
            Request::Grant(ttl) => {
                let id = LeaseId(self.revision.cast_signed());
                let ends = self.end_of(*ttl, now);
                self.leases.insert(id, Lease { ttl: *ttl, ends });
                Answer::Granted(id, *ttl)
            }
            Request::KeepAlive(lease) => {
                let ttl = self.leases.get(lease).map(|lease| lease.ttl);
                if let Some(ttl) = ttl {
                    let ends = self.end_of(ttl, now);
                    self.leases.insert(*lease, Lease { ttl, ends });
                }
                Answer::Alive(ttl)
            }
            Request::Announce { member, lease } => {
                if self.leases.contains_key(lease) {
                    self.alive.entry(member.node.clone()).or_insert(*lease);
                }
                Answer::Announced(self.alive.get(&member.node) == Some(lease))
            }
            Request::Lead {
                shard,
                lease,
                member,
            } => {
                let is_alive = self.leases.contains_key(lease);
                let leader = &mut self.shards.entry(*shard).or_default().leader;
                if leader.is_none() && is_alive {
                    *leader = Some(Leader {
                        member: member.clone(),
                        epoch: self.revision,
                        lease: *lease,
                    });
                }
                Answer::Leads(leader.clone())
            }
            Request::Resign(fence) => {
                let shard = self.shards.entry(fence.shard).or_default();
                if is_led_by(shard, fence) {
                    shard.leader = None;
                }
                Answer::Done
            }
            Request::Append { fence, seq, entry } => {
                Answer::Appended(self.append(fence, *seq, entry))
            }
            Request::Tail { shard, from, node } => Answer::Tail(self.tail(*shard, *from, node)),
            Request::First(shard) => {
                let journal = &self.shards[shard].journal;
                let (seq, entry) = journal.first_key_value().expect("a journal is never empty");
                Answer::First(*seq, entry.clone())
            }
            Request::Trim { shard, below } => {
                let journal = &mut self.shards.entry(*shard).or_default().journal;
                *journal = journal.split_off(below);
                Answer::Done
            }
            Request::Report {
                shard,
                node,
                lease,
                synced,
            } => {
                let is_current = self.alive.get(node) == Some(lease);
                if is_current {
                    let reports = &mut self.shards.entry(*shard).or_default().reports;
                    reports.insert(node.clone(), *synced);
                }
                Answer::Reported(is_current)
            }
            Request::Reports(shard) => {
                let reports = self.shards[shard].reports.iter();
                Answer::Reports(reports.map(|(node, seq)| (node.clone(), *seq)).collect())
            }
            Request::Found(charter) => Answer::Founded(self.found(*charter)),
            Request::Charter => Answer::Charter(self.charter),
            Request::Join(member) => {
                self.members.insert(member.node.clone(), member.clone());
                Answer::Done
            }
            Request::Remove(node) => {
                self.members.remove(node);
                for shard in self.shards.values_mut() {
                    shard.reports.remove(node);
                }
                Answer::Done
            }
            Request::Members => {
                let members = self.members.values().map(|member| Membership {
                    member: member.clone(),
                    is_alive: self.alive.contains_key(&member.node),
                });
                Answer::Members(members.collect())
            }
        }
    }

    fn end_of(&self, ttl: Duration, now: Tick) -> Tick {
        now + nanos(ttl) / (1 + u64::from(self.leases_are_short))
    }

    fn found(&mut self, charter: Charter) -> Charter {
        if let Some(charter) = self.charter {
            return charter;
        }
        for shard in (0..charter.shards).map(ShardId) {
            self.create(shard, replica::genesis(charter, shard).bytes);
        }
        *self.charter.insert(charter)
    }

    /// Ends a lease before its time.
    pub(crate) fn end(&mut self, lease: LeaseId) {
        self.leases.remove(&lease);
        self.alive.retain(|_, of| *of != lease);
        for shard in self.shards.values_mut() {
            shard.leader.take_if(|leader| leader.lease == lease);
        }
    }

    fn append(&mut self, fence: &Fence, seq: u64, entry: &Arc<[u8]>) -> Appended {
        let ignores_fences = self.ignores_fences;
        let shard = self.shards.entry(fence.shard).or_default();
        match shard.journal.get(&seq) {
            Some(there) if there == entry => Appended::Done,
            _ if !ignores_fences && !is_led_by(shard, fence) => Appended::Fenced,
            None if seq > 0 && shard.journal.contains_key(&(seq - 1)) => {
                shard.journal.insert(seq, entry.clone());
                Appended::Done
            }
            _ => Appended::Conflict,
        }
    }

    fn tail(&self, shard: ShardId, from: u64, node: &NodeName) -> Tail {
        let shard = &self.shards[&shard];
        let seq = |entry: Option<(&u64, _)>| entry.map(|(seq, _)| *seq).unwrap_or_default();
        let mut bytes = 0;
        let entries = shard.journal.range(from..).take_while(|(_, entry)| {
            let is_first = bytes == 0;
            bytes += entry.len();
            is_first || bytes <= PAGE
        });
        Tail {
            leader: shard.leader.clone(),
            reported: shard.reports.get(node).copied(),
            first: seq(shard.journal.first_key_value()),
            last: seq(shard.journal.last_key_value()),
            entries: entries.map(|(seq, entry)| (*seq, entry.clone())).collect(),
        }
    }
}

fn is_led_by(shard: &Shard, fence: &Fence) -> bool {
    let leader = shard.leader.as_ref();
    leader.is_some_and(|leader| leader.epoch == fence.epoch)
}
