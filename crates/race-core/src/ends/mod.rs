//! The ends of a race, and what they are made of.
//!
//! A [`Decision`] is made of a judge, which says what an output means ([`OkWins`], [`OkWinsBy`], [`By`]), of
//! a goal, which says what it takes and what comes back ([`One`], [`Many`], [`Drain`]), and of limits
//! ([`Unlimited`], [`Limited`]). Their names serve to write down the type of such a future. The methods of a
//! race make them.

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
pub use limits::{Limits, Unlimited};
pub use won::Won;

#[cfg(feature = "alloc")]
pub use {
    decision::Decision,
    drain::Drain,
    error::RaceError,
    failed::{Failed, Failure},
    goal::{Goal, One},
    judge::{By, Judge, OkWins, OkWinsBy},
    limits::{Judging, Limited},
    quorum::{Many, QuorumError, Tally},
    verdict::Verdict,
};
