//! What an operator asks of the log: who belongs to the cluster, and how it is.

mod begin;
mod error;
mod join;
mod remove;
mod signs;
mod status;
#[cfg(test)]
mod tests;

pub use error::AdminError;
#[cfg(test)]
pub use join::Joined;
pub use join::Was;
pub use signs::Life;
pub use status::LeaderStatus;
pub use status::{NodeStatus, ShardStatus, Status};

use std::sync::Arc;

use super::{
    Charter, ShardId,
    log::{Answer, Log, Membership, NodeName, Request, Tail, Unanswered, Why},
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
        request: Request,
        read: impl Fn(Answer) -> Option<T>,
    ) -> Result<T, AdminError> {
        let mut unanswered = None;
        for _ in 0..ATTEMPTS {
            match self.log.call(request.clone()).await {
                Ok(answer) => {
                    return Ok(read(answer).expect("an answer is of the kind of its request"));
                }
                Err(error) => {
                    let is_damage = matches!(error.0, Why::Damage(_));
                    unanswered = Some(error);
                    if is_damage {
                        break;
                    }
                }
            }
        }
        let error: Unanswered = unanswered.expect("it was sent");
        Err(error.into())
    }

    async fn charter(&self) -> Result<Option<Charter>, AdminError> {
        self.ask(Request::Charter, |answer| match answer {
            Answer::Charter(charter) => Some(charter),
            _ => None,
        })
        .await
    }

    /// Returns what the cluster is.
    ///
    /// # Errors
    ///
    /// If the log does not answer, or there is no cluster.
    pub async fn cluster(&self) -> Result<Charter, AdminError> {
        self.charter().await?.ok_or(AdminError::NoCluster)
    }

    /// Returns the members.
    async fn members(&self) -> Result<Vec<Membership>, AdminError> {
        self.ask(Request::Members, |answer| match answer {
            Answer::Members(members) => Some(members),
            _ => None,
        })
        .await
    }

    /// Sends a request whose answer says nothing.
    async fn tell(&self, request: Request) -> Result<(), AdminError> {
        self.ask(request, |answer| (answer == Answer::Done).then_some(()))
            .await
    }

    async fn reports(&self, shard: ShardId) -> Result<Vec<(NodeName, u64)>, AdminError> {
        self.ask(Request::Reports(shard), |answer| match answer {
            Answer::Reports(reports) => Some(reports),
            _ => None,
        })
        .await
    }

    /// Returns the extent of a journal, if its entries are read from `u64::MAX` on, and otherwise
    /// these.
    pub(crate) async fn tail(&self, shard: ShardId, from: u64) -> Result<Tail, AdminError> {
        let node = NodeName::from("");
        self.ask(Request::Tail { shard, from, node }, |answer| match answer {
            Answer::Tail(tail) => Some(tail),
            _ => None,
        })
        .await
    }

    async fn first(&self, shard: ShardId) -> Result<(u64, Arc<[u8]>), AdminError> {
        let request = Request::First { shard, from: 0 };
        self.ask(request, |answer| match answer {
            Answer::First(seq, entry) => Some((seq, entry)),
            _ => None,
        })
        .await
    }
}
