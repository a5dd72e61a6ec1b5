//! When may the next attempt start?

mod call;
mod catch_up;
mod due;
mod excuse;
mod on_failure;
mod options;
mod progress;

use crate::Moment;

pub use catch_up::CatchUp;
pub use due::Stagger;
pub use on_failure::OnFailure;

/// The answer of [`Stagger::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// Start an attempt now.
    Start,
    /// Start an attempt at this moment, which may be in the past.
    Until(Moment),
    /// As many attempts are running as allowed. Start one when one finishes.
    Full,
    /// Only a failure makes the next attempt due, or the end of a suspension.
    OnFailure,
    /// No more attempts start.
    Over,
}

#[cfg(test)]
mod gap_tests;
#[cfg(test)]
mod tests;
