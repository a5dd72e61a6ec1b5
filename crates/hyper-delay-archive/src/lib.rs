//! The archives of hyper-delay: backups, restores and imports, and what is read of a damaged store.
//!
//! A [`backup`] is a file of the rows of a store at one moment. [`salvage`] reads a store that is not
//! open, whatever is damaged: it verifies, exports, and repairs into a new one.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backup;
pub mod salvage;
