//! Who may do what: tokens, and the rights that they give on routes.
//!
//! A [`Tokens`] is read from a file, which has no secrets but their hashes. [`Tokens::grant`] finds
//! the [`Grant`] of a secret. [`Failures`] slows down addresses that give wrong ones.

mod entry;
mod failures;
mod file;
pub mod forwarded;
mod grant;
mod identity;
mod owner;
mod permits;
mod replace;
mod routes;
mod tokens;

pub use crate::secret::Secret;
pub use entry::Entry;
pub use failures::{Failures, network};
pub use file::{TokenFile, TokenFileError};
pub use grant::{Grant, Right};
pub use identity::{Identity, Revoked};
pub use owner::foreign_owner;
pub use permits::Denial;
pub use routes::{Routes, check_key};
pub use tokens::{TokenStamp, Tokens};
