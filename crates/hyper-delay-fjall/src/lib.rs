//! The store on a disk: spaces of the library `fjall`, in a data directory that one process uses.
//!
//! The library loses what a power failure takes without a word. So each commit is noted in a record
//! of its own, and each batch marks the spaces that it changes. At the start both are compared with
//! what the files contain.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod descriptors;

mod aside;
pub mod commits;
pub mod current;
mod damaged;
pub mod data_directory;
mod disk;
pub(crate) mod embedded;
pub mod files;
mod inspect;
pub mod journal;
mod library;
mod marker;
pub mod replicas;

pub use embedded::{Embedded, NO_KEY, OpenOptions, lock};
pub use marker::Marker;
