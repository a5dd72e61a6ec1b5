//! The store on a disk: spaces of the library `fjall`, in a data directory that one process uses.
//!
//! The library loses what a power failure takes without a word. So each commit is noted in a record
//! of its own, and each batch marks the spaces that it changes. At the start both are compared with
//! what the files contain.

mod aside;
pub(crate) mod commits;
pub(crate) mod current;
mod damaged;
pub(crate) mod data_directory;
mod disk;
pub(crate) mod embedded;
pub(crate) mod files;
mod inspect;
pub(crate) mod journal;
mod library;
mod marker;
#[cfg(any(feature = "cluster", test))]
pub(crate) mod replicas;

#[cfg(any(feature = "cli", feature = "cluster", test))]
pub(crate) use embedded::lock;
pub(crate) use embedded::{Embedded, OpenOptions};
pub(crate) use marker::Marker;
