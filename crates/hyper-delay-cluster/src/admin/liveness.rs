//! The liveness of nodes.

use std::time::Duration;

use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::{Admin, AdminError};
use crate::log::{Log, Membership};

/// Whether a node is alive, by its heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    /// Its heartbeat changes.
    Alive,
    /// Its heartbeat has not changed for its lease: the node has died, or cannot reach the log.
    Silent,
    /// It has no heartbeat: it has ended as it should, or was never started.
    Left,
}

impl Liveness {
    /// Compares two reads of a node, the later of which was sent some time after the earlier was
    /// answered. `None`: that was too soon.
    fn of(earlier: Option<&Membership>, later: &Membership, between: Duration) -> Option<Self> {
        let Some(heartbeat) = later.heartbeat else {
            return Some(Self::Left);
        };
        let revision = earlier
            .and_then(|it| it.heartbeat)
            .map(|heartbeat| heartbeat.revision);
        match revision == Some(heartbeat.revision) {
            false if earlier.is_some() => Some(Self::Alive),
            true if between >= heartbeat.ttl => Some(Self::Silent),
            // It was not read before, or not long enough ago.
            _ => None,
        }
    }
}

impl<L: Log> Admin<L> {
    /// Returns the members with their liveness. Takes a quarter of a lease if all are alive,
    /// and the longest lease of those that are not.
    pub(super) async fn liveness(
        &self,
        of: impl Fn(&Membership) -> bool,
    ) -> Result<Vec<(Membership, Liveness)>, AdminError> {
        // The first read of each node, and when it was answered.
        let mut earlier: Vec<(Membership, Instant)> = Vec::new();
        loop {
            let sent = Instant::now();
            let mut later = self.members().await?;
            later.retain(&of);
            let life = |it: &Membership| {
                let mut reads = earlier.iter();
                let read = reads.find(|(read, _)| read.member.node == it.member.node);
                let between = read.map(|(_, answered)| sent.saturating_duration_since(*answered));
                let read = read.map(|(read, _)| read);
                Liveness::of(read, it, between.unwrap_or_default())
            };
            let lives: Vec<_> = later.iter().map(life).collect();
            if lives.iter().all(Option::is_some) {
                return Ok(later.into_iter().zip(lives.into_iter().flatten()).collect());
            }
            let open = later.iter().zip(&lives).filter(|(_, life)| life.is_none());
            let shortest = open
                .filter_map(|(it, _)| it.heartbeat.map(|heartbeat| heartbeat.ttl))
                .min();
            let answered = Instant::now();
            for it in later {
                let is_known = earlier
                    .iter()
                    .any(|(read, _)| read.member.node == it.member.node);
                if !is_known {
                    earlier.push((it, answered));
                }
            }
            sleep(shortest.unwrap_or_default() / 16).await;
        }
    }
}
