//! Starts the journals of a cluster after an import of tasks.

use std::{sync::Arc, time::Duration};

use super::{Admin, AdminError, Liveness, join::no_member};
use crate::{
    ShardId,
    entry::EncodedEntry,
    import::JournalStart,
    log::{
        AnnounceOutcome, AppendOutcome, Fence, JournalTail, LeaseId, Log, LogAnswer, LogRequest,
        Member, SilentHeartbeat, Takeover,
    },
};

/// The lease of this process: other nodes wait this long if it ends too early.
const TTL: Duration = Duration::from_secs(30);

impl<L: Log> Admin<L> {
    /// Checks that tasks can be brought into the cluster: the node is a member, none is alive, and
    /// the journals have nothing but what an import can have left.
    ///
    /// # Errors
    ///
    /// If they cannot, or the log does not answer.
    pub async fn check_can_import(&self, member: &Member) -> Result<(), AdminError> {
        let charter = self.cluster().await?;
        let liveness = self.liveness(|_| true).await?;
        if !liveness.iter().any(|(it, _)| it.member.node == member.node) {
            let members: Vec<_> = liveness.into_iter().map(|(it, _)| it).collect();
            return Err(no_member(&member.node, &members));
        }
        if let Some((it, _)) = liveness.iter().find(|(_, life)| *life == Liveness::Alive) {
            return Err(AdminError::Running(it.member.node.clone()));
        }
        for shard in (0..charter.shards).map(ShardId) {
            let last = self.tail(shard, u64::MAX).await?.last;
            if last > JournalStart::LAST {
                return Err(AdminError::InUse { shard, last });
            }
        }
        Ok(())
    }

    /// Checks that the journals have nothing but the entries of this import, which an earlier run
    /// of it can have left.
    ///
    /// # Errors
    ///
    /// If they have others, or the log does not answer.
    pub async fn check_journals(&self, beginnings: &[JournalStart]) -> Result<(), AdminError> {
        for beginning in beginnings {
            let shard = beginning.applied.shard;
            let JournalTail { last, entries, .. } = self.tail(shard, 0).await?;
            let ours = |(seq, entry): &(u64, Arc<[u8]>)| match *seq {
                0 => true,
                seq => beginning.entry(seq).is_some_and(|it| *it.bytes == **entry),
            };
            if !entries.iter().all(ours) {
                return Err(AdminError::InUse { shard, last });
            }
        }
        Ok(())
    }

    /// Puts the entries that follow an import into the journals, by the numbers of the shards, and
    /// removes those that a node without a store needs. Repeating it changes nothing.
    ///
    /// Leads all shards before it writes, so that no node that starts meanwhile comes between.
    ///
    /// # Errors
    ///
    /// As [`check_can_import`](Self::check_can_import) and
    /// [`check_journals`](Self::check_journals).
    pub async fn start_journals(
        &self,
        member: &Member,
        beginnings: &[JournalStart],
    ) -> Result<(), AdminError> {
        self.check_can_import(member).await?;
        self.check_journals(beginnings).await?;
        let lease = getrandom::u64().map_err(|error| AdminError::Random(error.into()))?;
        let (lease, node) = (LeaseId(lease >> 1), member.node.clone());
        self.take_lease(member, lease).await?;
        let done = self.write(member, lease, beginnings).await;
        // If this fails, others wait for the lease.
        let left = self.send(LogRequest::Leave { node, lease }).await;
        done.and(left)
    }

    async fn take_lease(&self, member: &Member, lease: LeaseId) -> Result<(), AdminError> {
        let mut members = self.members().await?.into_iter();
        let known = members.find(|it| it.member.node == member.node);
        let heartbeat = known.and_then(|it| it.heartbeat);
        let request = LogRequest::Announce {
            member: member.clone(),
            lease,
            ttl: TTL,
            replaces: heartbeat.map_or(0, |heartbeat| heartbeat.revision),
        };
        let announced = self.ask(request, |answer| match answer {
            LogAnswer::Announced(announced) => Some(announced),
            _ => None,
        });
        match announced.await? {
            AnnounceOutcome::Done => Ok(()),
            AnnounceOutcome::Not(_) => Err(AdminError::Running(member.node.clone())),
        }
    }

    async fn write(
        &self,
        member: &Member,
        lease: LeaseId,
        beginnings: &[JournalStart],
    ) -> Result<(), AdminError> {
        let mut leaderships = Vec::new();
        for beginning in beginnings {
            let shard = beginning.applied.shard;
            let tail = self.tail(shard, 0).await?;
            let fence = self.take_over(shard, member, lease, &tail).await?;
            leaderships.push((fence, tail, beginning));
        }
        for (fence, tail, beginning) in &leaderships {
            self.put_entries(*fence, tail, beginning).await?;
        }
        for (fence, _, _) in &leaderships {
            let synced = LogRequest::Report {
                shard: fence.shard,
                node: member.node.clone(),
                lease,
                synced: JournalStart::LAST,
            };
            let noted = self.ask(synced, |answer| match answer {
                LogAnswer::Reported(noted) => Some(noted),
                _ => None,
            });
            if !noted.await? {
                return Err(AdminError::Running(member.node.clone()));
            }
            self.send(LogRequest::Trim {
                shard: fence.shard,
                from: 0,
                below: JournalStart::LAST,
            })
            .await?;
        }
        for (fence, _, _) in leaderships {
            self.send(LogRequest::Resign(fence)).await?;
        }
        Ok(())
    }

    /// Leads a shard whose leader, if there is one, is not alive.
    async fn take_over(
        &self,
        shard: ShardId,
        member: &Member,
        lease: LeaseId,
        tail: &JournalTail,
    ) -> Result<Fence, AdminError> {
        let takeover = tail.leader.as_ref().map(|current| Takeover {
            epoch: current.leader.epoch,
            silence: Some(SilentHeartbeat {
                node: current.leader.member.node.clone(),
                revision: current.heartbeat.map_or(0, |heartbeat| heartbeat.revision),
            }),
        });
        let request = LogRequest::Lead {
            shard,
            lease,
            member: member.clone(),
            takeover,
        };
        let current = self.ask(request, |answer| match answer {
            LogAnswer::Leader(current) => Some(current),
            _ => None,
        });
        match current.await? {
            Some(current) if current.leader.lease == lease => Ok(Fence {
                shard,
                epoch: current.leader.epoch,
                lease,
            }),
            Some(current) => Err(AdminError::Running(current.leader.member.node)),
            None => Err(AdminError::Running(member.node.clone())),
        }
    }

    /// Puts the entries into a journal, unless the last one is there.
    async fn put_entries(
        &self,
        fence: Fence,
        tail: &JournalTail,
        beginning: &JournalStart,
    ) -> Result<(), AdminError> {
        let [_, last] = &beginning.entries;
        let there = tail
            .entries
            .iter()
            .find(|(seq, _)| *seq == JournalStart::LAST);
        if there.is_some_and(|(_, entry)| **entry == *last.bytes) {
            return Ok(());
        }
        for (EncodedEntry { bytes, .. }, seq) in beginning.entries.iter().zip(1..) {
            let entry: Arc<[u8]> = bytes.as_slice().into();
            let request = LogRequest::Append { fence, seq, entry };
            let appended = self.ask(request, |answer| match answer {
                LogAnswer::Appended(appended) => Some(appended),
                _ => None,
            });
            match appended.await? {
                AppendOutcome::Done => {}
                AppendOutcome::Fenced | AppendOutcome::Conflict => {
                    return Err(AdminError::InUse {
                        shard: fence.shard,
                        last: tail.last,
                    });
                }
            }
        }
        Ok(())
    }
}
