use serde::{Deserialize, Serialize};

use super::Routes;
use crate::secret::SecretHash;

/// A right on routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// To schedule and cancel tasks.
    Schedule,
    /// To receive tasks and answer them.
    Consume,
    /// To look into routes and change them: counts, dead letters.
    Admin,
}

impl Right {
    /// Every right.
    pub const ALL: [Self; 3] = [Self::Schedule, Self::Consume, Self::Admin];

    /// The name in the file of tokens.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Consume => "consume",
            Self::Admin => "admin",
        }
    }
}

/// The rights of the holder of a token or of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// The id of its entry in the file of tokens.
    pub id: String,
    /// Its name, for logs.
    pub name: String,
    /// The rights that it gives.
    pub rights: Vec<Right>,
    /// The routes on which it gives them.
    pub routes: Routes,
    /// The most schedules per second. `None`: no limit.
    pub schedules_per_second: Option<u32>,
    /// The most tasks pending on its routes; tasks of other tokens count. `None`: no limit.
    pub pending: Option<u64>,
    /// The most bytes of their payloads. `None`: no limit.
    pub pending_bytes: Option<u64>,
    /// The proof that its holder shows.
    pub(super) proof: Proof,
}

/// The proof that the holder of a grant shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Proof {
    /// A secret with this hash.
    Token(SecretHash),
    /// A certificate with this name.
    Certificate(String),
    /// It was shown to another node.
    Elsewhere,
}

impl Grant {
    /// Returns whether it allows this on a route.
    #[must_use]
    pub fn allows(&self, right: Right, route: &str) -> bool {
        self.rights.contains(&right) && self.routes.contain(route)
    }

    /// Returns whether it allows this on every route.
    #[must_use]
    pub fn allows_everywhere(&self, right: Right) -> bool {
        self.rights.contains(&right) && self.routes.are_all()
    }
}
