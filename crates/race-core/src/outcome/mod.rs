//! How a race ends: the futures of the finishers, and what they resolve to.
//!
//! A [`Decision`] is made of a judge, which classifies outputs ([`OkWins`], [`OkWinsBy`], [`By`]),
//! and a goal, which says how many must be accepted ([`One`], [`Many`]). Use their names to write
//! down the type of such a future. The finisher methods of a race make them. All but [`First`] and
//! [`Won`] need the feature `alloc`.
//!
// Without `alloc`, the links to its items lead to the table of features.
#![cfg_attr(
    not(feature = "alloc"),
    doc = "[`By`]: crate#features",
    doc = "[`Decision`]: crate#features",
    doc = "[`Many`]: crate#features",
    doc = "[`OkWins`]: crate#features",
    doc = "[`OkWinsBy`]: crate#features",
    doc = "[`One`]: crate#features"
)]

mod first;
mod won;

#[cfg(feature = "alloc")]
mod apply_verdict;
#[cfg(feature = "alloc")]
mod boxed_error;
#[cfg(feature = "alloc")]
mod decision;
#[cfg(feature = "alloc")]
mod failed;
#[cfg(feature = "alloc")]
mod finishers;
#[cfg(feature = "alloc")]
mod goal;
#[cfg(feature = "alloc")]
mod judge;
#[cfg(feature = "alloc")]
mod keep_race;
#[cfg(feature = "alloc")]
mod quorum;
#[cfg(feature = "alloc")]
mod quorum_error;
#[cfg(feature = "alloc")]
mod race_error;
#[cfg(feature = "alloc")]
mod verdict;

pub use first::First;
pub use won::Won;

#[cfg(feature = "alloc")]
#[doc(hidden)]
pub use judge::{Judge, Judged};
#[cfg(feature = "alloc")]
pub use {
    boxed_error::BoxedRaceError,
    decision::Decision,
    failed::{Failed, Failure},
    goal::One,
    judge::{By, OkWins, OkWinsBy},
    keep_race::KeepRace,
    quorum::Many,
    quorum_error::{QuorumError, Tally},
    race_error::RaceError,
    verdict::Verdict,
};
