//! Removing a node.

use super::{Admin, AdminError, Liveness, join::no_member};
use crate::{
    ShardId,
    log::{Log, LogRequest, NodeName},
};

impl<L: Log> Admin<L> {
    /// Makes a node no member. Returns the number of members that are left.
    ///
    /// With `force` also one that is alive, or that has tasks which the others can get nowhere else.
    ///
    /// # Errors
    ///
    /// If the log does not answer, or the node is no member, the only one, or needed.
    pub async fn remove(&self, node: &str, force: bool) -> Result<usize, AdminError> {
        let charter = self.cluster().await?;
        let members = self.members().await?;
        let Some(member) = members.iter().find(|it| &*it.member.node == node) else {
            return Err(no_member(node, &members));
        };
        let name = member.member.node.clone();
        if members.len() == 1 {
            return Err(AdminError::Only(name));
        }
        if !force {
            let liveness = self.liveness(|it| it.member.node == name).await?;
            if liveness.iter().any(|(_, life)| *life == Liveness::Alive) {
                return Err(AdminError::Alive(name));
            }
            let others = members.iter().map(|it| &it.member.node);
            let others: Vec<_> = others.filter(|it| **it != name).collect();
            for shard in (0..charter.shards).map(ShardId) {
                self.check(shard, &others).await?;
            }
        }
        self.send(LogRequest::Remove(name)).await?;
        Ok(self.members().await?.len())
    }

    /// Checks that one of these nodes has all of a shard that its journal does not have.
    async fn check(&self, shard: ShardId, nodes: &[&NodeName]) -> Result<(), AdminError> {
        let reports = self.reports(shard).await?;
        let reports = reports.iter().filter(|(node, _)| nodes.contains(&node));
        let synced = reports.map(|(_, synced)| *synced).max();
        let first = self.tail(shard, u64::MAX).await?.first;
        match first == 0 || synced.is_some_and(|synced| synced + 1 >= first) {
            true => Ok(()),
            false => Err(AdminError::Needed { shard, first }),
        }
    }
}
