//! Access control: tokens, and the rights that they give on routes.
//!
//! A [`Tokens`] is read from a file, which has no secrets but their hashes. [`Tokens::grant`] finds
//! the [`Grant`] of a secret. [`TokenFailures`] slows down addresses that give wrong ones.

mod atomic_replace;
mod file_owner;
pub mod forwarded_grant;
mod grant;
mod identity;
mod permissions;
mod route_patterns;
mod token_entry;
mod token_failures;
mod token_file;
mod tokens;

pub use crate::secret::Secret;
pub use file_owner::foreign_owner;
pub use grant::{Grant, Right};
pub use identity::{Identity, Revoked};
pub use permissions::Denial;
pub use route_patterns::{Routes, check_key};
pub use token_entry::TokenEntry;
pub use token_failures::{TokenFailures, network};
pub use token_file::{TokenFile, TokenFileError};
pub use tokens::{TokenStamp, Tokens};
