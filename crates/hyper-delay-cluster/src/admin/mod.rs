//! Requests of an operator to the log: members and status of the cluster.

mod error;
mod join;
mod liveness;
mod remove;
mod start_journals;
mod status;
#[cfg(test)]
mod tests;

pub use error::AdminError;
#[cfg(test)]
pub use join::JoinOutcome;
pub use join::PreviousMembership;
pub use liveness::Liveness;
pub use status::LeaderStatus;
pub use status::{ClusterStatus, NodeStatus, ShardStatus};

use std::sync::Arc;

use super::{
    Charter, ShardId,
    log::{
        JournalTail, Log, LogAnswer, LogRequest, LogUnanswered, Membership, NodeName,
        UnansweredReason,
    },
};

/// The most times that a request is sent. Each attempt asks another member of etcd first.
const ATTEMPTS: u32 = 3;

/// An operator's view of the log.
///
/// # Cancel safety
///
/// If a future of it is dropped, its last request may be carried out, now or later.
#[derive(Debug)]
pub struct Admin<L> {
    log: L,
}

impl<L: Log> Admin<L> {
    /// Creates one. Nothing is sent yet.
    pub const fn new(log: L) -> Self {
        Self { log }
    }

    /// Sends a request until it is answered, a few times if that can help.
    async fn ask<T>(
        &self,
        request: LogRequest,
        read: impl Fn(LogAnswer) -> Option<T>,
    ) -> Result<T, AdminError> {
        let mut unanswered = None;
        for _ in 0..ATTEMPTS {
            match self.log.call(request.clone()).await {
                Ok(answer) => {
                    return Ok(read(answer).expect("an answer is of the kind of its request"));
                }
                Err(error) => {
                    let is_damage = matches!(error.0, UnansweredReason::Damage(_));
                    unanswered = Some(error);
                    if is_damage {
                        break;
                    }
                }
            }
        }
        let error: LogUnanswered = unanswered.expect("it was sent");
        Err(error.into())
    }

    async fn charter(&self) -> Result<Option<Charter>, AdminError> {
        self.ask(LogRequest::Charter, |answer| match answer {
            LogAnswer::Charter(charter) => Some(charter),
            _ => None,
        })
        .await
    }

    /// Returns the charter of the cluster.
    ///
    /// # Errors
    ///
    /// If the log does not answer, or there is no cluster.
    pub async fn cluster(&self) -> Result<Charter, AdminError> {
        self.charter().await?.ok_or(AdminError::NoCluster)
    }

    /// Returns the members.
    async fn members(&self) -> Result<Vec<Membership>, AdminError> {
        self.ask(LogRequest::Members, |answer| match answer {
            LogAnswer::Members(members) => Some(members),
            _ => None,
        })
        .await
    }

    /// Sends a request whose answer is `Done`.
    async fn send(&self, request: LogRequest) -> Result<(), AdminError> {
        self.ask(request, |answer| (answer == LogAnswer::Done).then_some(()))
            .await
    }

    async fn reports(&self, shard: ShardId) -> Result<Vec<(NodeName, u64)>, AdminError> {
        self.ask(LogRequest::Reports(shard), |answer| match answer {
            LogAnswer::Reports(reports) => Some(reports),
            _ => None,
        })
        .await
    }

    /// Returns the extent of a journal, if its entries are read from `u64::MAX` on, and otherwise
    /// these.
    pub(crate) async fn tail(&self, shard: ShardId, from: u64) -> Result<JournalTail, AdminError> {
        let node = NodeName::from("");
        self.ask(
            LogRequest::Tail { shard, from, node },
            |answer| match answer {
                LogAnswer::Tail(tail) => Some(tail),
                _ => None,
            },
        )
        .await
    }

    async fn first(&self, shard: ShardId) -> Result<(u64, Arc<[u8]>), AdminError> {
        let request = LogRequest::First { shard, from: 0 };
        self.ask(request, |answer| match answer {
            LogAnswer::First(seq, entry) => Some((seq, entry)),
            _ => None,
        })
        .await
    }
}
