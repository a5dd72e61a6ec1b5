//! Telling the log that a node has brought tasks into a new cluster.

use std::{sync::Arc, time::Duration};

use super::{Admin, AdminError, Life, join::no_member};
use crate::{
    ShardId,
    entry::Encoded,
    import::Beginning,
    log::{Announced, Answer, Appended, Fence, LeaseId, Log, Member, Over, Request, Silence, Tail},
};

/// How long other nodes wait for a process that ends before it is done.
const TTL: Duration = Duration::from_secs(30);

impl<L: Log> Admin<L> {
    /// Checks that tasks can be brought into the cluster: the node is a member, none is alive, and
    /// the journals have nothing but what an import can have left.
    ///
    /// # Errors
    ///
    /// If they cannot, or the log does not answer.
    pub async fn check_beginning(&self, member: &Member) -> Result<(), AdminError> {
        let charter = self.cluster().await?;
        let signs = self.signs(|_| true).await?;
        if !signs.iter().any(|(it, _)| it.member.node == member.node) {
            let members: Vec<_> = signs.into_iter().map(|(it, _)| it).collect();
            return Err(no_member(&member.node, &members));
        }
        if let Some((it, _)) = signs.iter().find(|(_, life)| *life == Life::Alive) {
            return Err(AdminError::Running(it.member.node.clone()));
        }
        for shard in (0..charter.shards).map(ShardId) {
            let last = self.tail(shard, u64::MAX).await?.last;
            if last > Beginning::LAST {
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
    pub async fn check_journals(&self, beginnings: &[Beginning]) -> Result<(), AdminError> {
        for beginning in beginnings {
            let shard = beginning.applied.shard;
            let Tail { last, entries, .. } = self.tail(shard, 0).await?;
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
    /// As [`check_beginning`](Self::check_beginning) and
    /// [`check_journals`](Self::check_journals).
    pub async fn begin(&self, member: &Member, beginnings: &[Beginning]) -> Result<(), AdminError> {
        self.check_beginning(member).await?;
        self.check_journals(beginnings).await?;
        let lease = getrandom::u64().map_err(|error| AdminError::Random(error.into()))?;
        let (lease, node) = (LeaseId(lease >> 1), member.node.clone());
        self.take_lease(member, lease).await?;
        let done = self.write(member, lease, beginnings).await;
        // If this fails, others wait for the lease.
        let left = self.tell(Request::Leave { node, lease }).await;
        done.and(left)
    }

    async fn take_lease(&self, member: &Member, lease: LeaseId) -> Result<(), AdminError> {
        let mut members = self.members().await?.into_iter();
        let known = members.find(|it| it.member.node == member.node);
        let beat = known.and_then(|it| it.beat);
        let request = Request::Announce {
            member: member.clone(),
            lease,
            ttl: TTL,
            over: beat.map_or(0, |beat| beat.revision),
        };
        let announced = self.ask(request, |answer| match answer {
            Answer::Announced(announced) => Some(announced),
            _ => None,
        });
        match announced.await? {
            Announced::Done => Ok(()),
            Announced::Not(_) => Err(AdminError::Running(member.node.clone())),
        }
    }

    async fn write(
        &self,
        member: &Member,
        lease: LeaseId,
        beginnings: &[Beginning],
    ) -> Result<(), AdminError> {
        let mut led = Vec::new();
        for beginning in beginnings {
            let shard = beginning.applied.shard;
            let tail = self.tail(shard, 0).await?;
            let fence = self.take_over(shard, member, lease, &tail).await?;
            led.push((fence, tail, beginning));
        }
        for (fence, tail, beginning) in &led {
            self.put(*fence, tail, beginning).await?;
        }
        for (fence, _, _) in &led {
            let synced = Request::Report {
                shard: fence.shard,
                node: member.node.clone(),
                lease,
                synced: Beginning::LAST,
            };
            let noted = self.ask(synced, |answer| match answer {
                Answer::Reported(noted) => Some(noted),
                _ => None,
            });
            if !noted.await? {
                return Err(AdminError::Running(member.node.clone()));
            }
            self.tell(Request::Trim {
                shard: fence.shard,
                from: 0,
                below: Beginning::LAST,
            })
            .await?;
        }
        for (fence, _, _) in led {
            self.tell(Request::Resign(fence)).await?;
        }
        Ok(())
    }

    /// Leads a shard whose leader, if there is one, is not alive.
    async fn take_over(
        &self,
        shard: ShardId,
        member: &Member,
        lease: LeaseId,
        tail: &Tail,
    ) -> Result<Fence, AdminError> {
        let over = tail.led.as_ref().map(|led| Over {
            epoch: led.leader.epoch,
            silence: Some(Silence {
                node: led.leader.member.node.clone(),
                revision: led.beat.map_or(0, |beat| beat.revision),
            }),
        });
        let request = Request::Lead {
            shard,
            lease,
            member: member.clone(),
            over,
        };
        let led = self.ask(request, |answer| match answer {
            Answer::Leads(led) => Some(led),
            _ => None,
        });
        match led.await? {
            Some(led) if led.leader.lease == lease => Ok(Fence {
                shard,
                epoch: led.leader.epoch,
                lease,
            }),
            Some(led) => Err(AdminError::Running(led.leader.member.node)),
            None => Err(AdminError::Running(member.node.clone())),
        }
    }

    /// Puts the entries into a journal, unless the last one is there.
    async fn put(
        &self,
        fence: Fence,
        tail: &Tail,
        beginning: &Beginning,
    ) -> Result<(), AdminError> {
        let [_, last] = &beginning.entries;
        let there = tail.entries.iter().find(|(seq, _)| *seq == Beginning::LAST);
        if there.is_some_and(|(_, entry)| **entry == *last.bytes) {
            return Ok(());
        }
        for (Encoded { bytes, .. }, seq) in beginning.entries.iter().zip(1..) {
            let entry: Arc<[u8]> = bytes.as_slice().into();
            let request = Request::Append { fence, seq, entry };
            let appended = self.ask(request, |answer| match answer {
                Answer::Appended(appended) => Some(appended),
                _ => None,
            });
            match appended.await? {
                Appended::Done => {}
                Appended::Fenced | Appended::Conflict => {
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
