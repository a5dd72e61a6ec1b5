//! The ends of a race: what it takes to win, and what comes back.

mod first;
mod won;

#[cfg(feature = "alloc")]
mod decision;
#[cfg(feature = "alloc")]
mod drain;
#[cfg(feature = "alloc")]
mod error;
#[cfg(feature = "alloc")]
mod failed;
#[cfg(feature = "alloc")]
mod goal;
#[cfg(feature = "alloc")]
mod judge;
mod limits;
#[cfg(feature = "alloc")]
mod quorum;
#[cfg(feature = "alloc")]
mod verdict;

pub use first::{First, NoCandidates};
pub use won::Won;

pub(crate) use limits::Limits;
#[cfg(not(feature = "alloc"))]
pub(crate) use limits::Unlimited;

#[cfg(feature = "alloc")]
pub use {
    decision::Decision,
    drain::Drain,
    error::RaceError,
    failed::{Failed, Failure},
    goal::One,
    judge::{By, OkWins},
    limits::{Limited, Unlimited},
    quorum::{Many, QuorumError, Tally},
    verdict::Verdict,
};
