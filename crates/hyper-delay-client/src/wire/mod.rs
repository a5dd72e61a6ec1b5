//! The lines themselves: what is sent, what comes, and where one ends.

mod lines;
pub(crate) mod payload;
mod reply;
mod request;

pub(crate) use lines::Lines;
pub(crate) use reply::{Arrived, Head, Piece, Registered, Reply, Unregistered, or_default};
pub(crate) use request::{Request, Tag};
