//! Which nodes live.

use std::time::Duration;

use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::{Admin, AdminError};
use crate::log::{Log, Membership};

/// Whether a node gives signs of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// Its heartbeat changes.
    Alive,
    /// Its heartbeat has not changed for its lease: the node has died, or cannot reach the log.
    Silent,
    /// It has no heartbeat: it has ended as it should, or was never started.
    Left,
}

impl Life {
    /// Compares two looks at a node, the later of which was sent some time after the earlier was
    /// answered. `None`: that was too soon.
    fn of(earlier: Option<&Membership>, later: &Membership, between: Duration) -> Option<Self> {
        let Some(beat) = later.beat else {
            return Some(Self::Left);
        };
        let revision = earlier.and_then(|it| it.beat).map(|beat| beat.revision);
        match revision == Some(beat.revision) {
            false if earlier.is_some() => Some(Self::Alive),
            true if between >= beat.ttl => Some(Self::Silent),
            // It was not looked at before, or not long enough.
            _ => None,
        }
    }
}

impl<L: Log> Admin<L> {
    /// Returns the members, and whether each of them lives. Takes a quarter of a lease if all do,
    /// and the longest lease of those that do not.
    pub(super) async fn signs(
        &self,
        of: impl Fn(&Membership) -> bool,
    ) -> Result<Vec<(Membership, Life)>, AdminError> {
        // The first look at each node, and when it was answered.
        let mut earlier: Vec<(Membership, Instant)> = Vec::new();
        loop {
            let sent = Instant::now();
            let mut later = self.members().await?;
            later.retain(&of);
            let life = |it: &Membership| {
                let mut looks = earlier.iter();
                let look = looks.find(|(look, _)| look.member.node == it.member.node);
                let between = look.map(|(_, answered)| sent.saturating_duration_since(*answered));
                let look = look.map(|(look, _)| look);
                Life::of(look, it, between.unwrap_or_default())
            };
            let lives: Vec<_> = later.iter().map(life).collect();
            if lives.iter().all(Option::is_some) {
                return Ok(later.into_iter().zip(lives.into_iter().flatten()).collect());
            }
            let open = later.iter().zip(&lives).filter(|(_, life)| life.is_none());
            let shortest = open
                .filter_map(|(it, _)| it.beat.map(|beat| beat.ttl))
                .min();
            let answered = Instant::now();
            for it in later {
                let is_known = earlier
                    .iter()
                    .any(|(look, _)| look.member.node == it.member.node);
                if !is_known {
                    earlier.push((it, answered));
                }
            }
            sleep(shortest.unwrap_or_default() / 16).await;
        }
    }
}
