//! Adding a node.

use super::{Admin, AdminError, Life};
use crate::{
    Charter,
    log::{Answer, Log, Member, NodeName, Request},
};

/// The number of shards of a new cluster unless the operator gives one.
pub(crate) const SHARDS: u16 = 8;

/// What adding a node has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The cluster.
    pub charter: Charter,
    /// Whether it was made now.
    pub is_new: bool,
    /// What the node was before.
    pub was: Was,
    /// The place of the node among the members, from 1.
    pub place: usize,
    /// The number of members.
    pub members: usize,
}

/// What a node was before it was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Was {
    /// No member.
    Stranger,
    /// A member with the same address.
    Member,
    /// A member with this address.
    Elsewhere(String),
}

impl<L: Log> Admin<L> {
    /// Makes the cluster if there is none, and makes a node a member. Repeating it changes nothing.
    /// Takes a lease if the address of a silent node changes.
    ///
    /// # Errors
    ///
    /// If the log does not answer, the cluster has another number of shards than `shards`, another
    /// member has the same address, or the node is alive at another address.
    pub async fn join(&self, member: &Member, shards: Option<u16>) -> Result<Joined, AdminError> {
        let (charter, is_new) = self.found(shards).await?;
        let before = self.members().await?;
        let other = |it: &&_| is_at(it, member);
        if let Some(other) = before.iter().map(|it| &it.member).find(other) {
            return Err(AdminError::SameAddress {
                other: other.node.clone(),
                address: other.address.to_string(),
            });
        }
        let known = before.iter().find(|it| it.member.node == member.node);
        let was = match known {
            None => Was::Stranger,
            Some(known) if known.member.address == member.address => Was::Member,
            Some(known) => Was::Elsewhere(known.member.address.to_string()),
        };
        if let Was::Elsewhere(address) = &was {
            self.check_is_away(&member.node, address).await?;
        }
        if was != Was::Member {
            self.tell(Request::Join(member.clone())).await?;
        }
        let after = self.members().await?;
        let place = after.iter().position(|it| it.member == *member);
        let Some(place) = place else {
            return Err(no_member(&member.node, &after));
        };
        Ok(Joined {
            charter,
            is_new,
            was,
            place: place + 1,
            members: after.len(),
        })
    }

    /// Checks that no process is the node, whose address is to change: the other nodes would lose
    /// their links to it.
    async fn check_is_away(&self, node: &NodeName, address: &str) -> Result<(), AdminError> {
        let signs = self.signs(|it| it.member.node == *node).await?;
        match signs.iter().any(|(_, life)| *life == Life::Alive) {
            false => Ok(()),
            true => Err(AdminError::AliveAt {
                node: node.clone(),
                address: address.to_owned(),
            }),
        }
    }

    /// Returns what the cluster is, and whether it was made now.
    async fn found(&self, shards: Option<u16>) -> Result<(Charter, bool), AdminError> {
        let (charter, is_new) = match self.charter().await? {
            Some(charter) => (charter, false),
            None => {
                let mut random = [0; 16];
                getrandom::fill(&mut random).map_err(|error| AdminError::Random(error.into()))?;
                let wanted = Charter::new(u128::from_le_bytes(random), shards.unwrap_or(SHARDS))?;
                let founded = self.ask(Request::Found(wanted), |answer| match answer {
                    Answer::Founded(charter) => Some(charter),
                    _ => None,
                });
                // Another node may have made one meanwhile.
                let charter = founded.await?;
                (charter, charter == wanted)
            }
        };
        match shards {
            Some(wanted) if wanted != charter.shards => Err(AdminError::OtherShards {
                has: charter.shards,
                wanted,
            }),
            _ => Ok((charter, is_new)),
        }
    }
}

/// Returns whether another node is where this one is to be.
fn is_at(other: &Member, member: &Member) -> bool {
    other.node != member.node && other.address == member.address
}

/// Returns the error of a node that is no member.
pub(super) fn no_member(node: &str, members: &[crate::log::Membership]) -> AdminError {
    let names: Vec<&str> = members.iter().map(|it| &*it.member.node).collect();
    AdminError::NoMember {
        node: node.to_owned(),
        members: match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        },
    }
}
