//! Who may do what: tokens, and the rights that they give on routes.
//!
//! A [`Tokens`] is read from a file, which has no secrets but their hashes. [`Tokens::grant`] finds
//! the [`Grant`] of a secret. `Failures` slows down addresses that give wrong ones.

#[cfg_attr(
    not(feature = "cli"),
    allow(dead_code, reason = "only the commands write it")
)]
mod entry;
mod failures;
#[cfg_attr(
    not(feature = "cli"),
    allow(dead_code, reason = "only the commands write it")
)]
mod file;
#[cfg(any(feature = "cluster", test))]
pub(crate) mod forwarded;
mod grant;
mod identity;
mod owner;
mod permits;
#[cfg_attr(
    not(feature = "cli"),
    allow(dead_code, reason = "only the commands write files")
)]
mod replace;
mod routes;
mod tokens;

pub use crate::secret::Secret;
#[cfg(any(feature = "cli", test))]
pub(crate) use entry::Entry;
pub(crate) use failures::{Failures, network};
#[cfg(feature = "cli")]
pub(crate) use file::TokenFile;
pub use file::TokenFileError;
pub use grant::{Grant, Right};
pub(crate) use identity::{Identity, Revoked};
pub(crate) use owner::foreign_owner;
pub(crate) use permits::Denial;
pub use routes::Routes;
pub(crate) use routes::check_key;
pub(crate) use tokens::TokenStamp;
pub use tokens::Tokens;
