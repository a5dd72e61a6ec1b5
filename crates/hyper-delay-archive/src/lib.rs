//! The archives of hyper-delay: backups, restores and imports, and the salvage of damaged stores.
//!
//! A [`backup`] is a file of the rows of a store at one moment. [`salvage`] reads the store of a
//! stopped server, damaged or not: it verifies, exports, and repairs into a new one.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backup;
pub mod salvage;

mod retrying_index;
