//! Adding a node.

use super::{Admin, AdminError, Liveness};
use crate::{
    Charter,
    log::{Log, LogAnswer, LogRequest, Member, NodeName},
};

/// The number of shards of a new cluster unless the operator gives one.
pub(crate) const SHARDS: u16 = 8;

/// The result of adding a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinOutcome {
    /// The cluster.
    pub charter: Charter,
    /// Whether it was made now.
    pub is_new: bool,
    /// The membership of the node before.
    pub was: PreviousMembership,
    /// The place of the node among the members, from 1.
    pub place: usize,
    /// The number of members.
    pub members: usize,
}

/// The membership of a node before it was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviousMembership {
    /// No member.
    NotMember,
    /// A member with the same address.
    Member,
    /// A member with this address.
    OtherAddress(String),
}

impl<L: Log> Admin<L> {
    /// Makes the cluster if there is none, and makes a node a member. Repeating it changes nothing.
    /// Takes a lease if the address of a silent node changes.
    ///
    /// # Errors
    ///
    /// If the log does not answer, the cluster has another number of shards than `shards`, another
    /// member has the same address, or the node is alive at another address.
    pub async fn join(
        &self,
        member: &Member,
        shards: Option<u16>,
    ) -> Result<JoinOutcome, AdminError> {
        let (charter, is_new) = self.find_or_create(shards).await?;
        let before = self.members().await?;
        let other = |it: &&_| has_same_address(it, member);
        if let Some(other) = before.iter().map(|it| &it.member).find(other) {
            return Err(AdminError::SameAddress {
                other: other.node.clone(),
                address: other.address.to_string(),
            });
        }
        let known = before.iter().find(|it| it.member.node == member.node);
        let was = match known {
            None => PreviousMembership::NotMember,
            Some(known) if known.member.address == member.address => PreviousMembership::Member,
            Some(known) => PreviousMembership::OtherAddress(known.member.address.to_string()),
        };
        if let PreviousMembership::OtherAddress(address) = &was {
            self.check_not_alive(&member.node, address).await?;
        }
        if was != PreviousMembership::Member {
            self.send(LogRequest::Join(member.clone())).await?;
        }
        let after = self.members().await?;
        let place = after.iter().position(|it| it.member == *member);
        let Some(place) = place else {
            return Err(no_member(&member.node, &after));
        };
        Ok(JoinOutcome {
            charter,
            is_new,
            was,
            place: place + 1,
            members: after.len(),
        })
    }

    /// Checks that no process is the node, whose address is to change: the other nodes would lose
    /// their links to it.
    async fn check_not_alive(&self, node: &NodeName, address: &str) -> Result<(), AdminError> {
        let liveness = self.liveness(|it| it.member.node == *node).await?;
        match liveness.iter().any(|(_, life)| *life == Liveness::Alive) {
            false => Ok(()),
            true => Err(AdminError::AliveAt {
                node: node.clone(),
                address: address.to_owned(),
            }),
        }
    }

    /// Returns the charter of the cluster, and whether it was made now.
    async fn find_or_create(&self, shards: Option<u16>) -> Result<(Charter, bool), AdminError> {
        let (charter, is_new) = match self.charter().await? {
            Some(charter) => (charter, false),
            None => {
                let mut random = [0; 16];
                getrandom::fill(&mut random).map_err(|error| AdminError::Random(error.into()))?;
                let wanted = Charter::new(u128::from_le_bytes(random), shards.unwrap_or(SHARDS))?;
                let founded = self.ask(LogRequest::CreateCluster(wanted), |answer| match answer {
                    LogAnswer::ClusterCreated(charter) => Some(charter),
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
fn has_same_address(other: &Member, member: &Member) -> bool {
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
