//! How a race ends: the futures of the finishers, and what they resolve to.
//!
//! A [`Decision`] is made of a judge, which classifies outputs ([`OkWins`], [`OkWinsBy`], [`By`]),
//! and a goal, which says how many must be accepted ([`One`], `Many`). Use their names to write
//! down the type of such a future. The finisher methods of a race make them. Quorums need the
//! feature `alloc`, for the list of winners.

mod apply_verdict;
mod decision;
mod failed;
mod failures;
mod finishers;
mod first;
mod goal;
mod inline_failures;
mod judge;
mod keep_race;
mod race_error;
mod retrying;
mod verdict;
mod won;

#[cfg(feature = "alloc")]
mod boxed_error;
#[cfg(feature = "alloc")]
mod quorum;
#[cfg(feature = "alloc")]
mod quorum_error;

#[doc(hidden)]
pub use judge::{Judge, Judged};
pub use {
    decision::Decision,
    failed::{Failed, Failure},
    failures::Failures,
    first::First,
    goal::One,
    inline_failures::{InlineFailures, InlineFailuresIntoIter},
    judge::{By, OkWins, OkWinsBy},
    keep_race::KeepRace,
    race_error::{GenericRaceError, InlineRaceError},
    retrying::Retrying,
    verdict::Verdict,
    won::Won,
};

#[cfg(feature = "alloc")]
#[cfg_attr(docsrs, doc(cfg(feature = "alloc")))]
pub use {
    boxed_error::BoxedRaceError,
    quorum::Many,
    quorum_error::{QuorumError, Tally},
    race_error::RaceError,
};
