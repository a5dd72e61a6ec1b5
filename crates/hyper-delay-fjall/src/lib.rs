//! The store on a disk: spaces of the library `fjall`, in a data directory that one process uses.
//!
//! The library does not report what it lost in a power failure. So each commit is noted in a commit
//! record outside of the library, and each batch writes a marker into the spaces that it changes. At
//! the start both are compared with the contents of the files.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod file_descriptors;

mod commit_marker;
pub mod commit_record;
mod damaged_tables;
pub mod data_directory;
mod disk;
mod embedded;
pub mod files;
mod fjall_error;
mod inspect;
pub mod journal_file;
pub mod node_directory;
mod quarantine;

pub use commit_marker::CommitMarker;
pub use embedded::{Embedded, NO_KEY, OpenOptions, lock};
