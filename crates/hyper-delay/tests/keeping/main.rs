//! Backups, restores, imports, and stores of this and of newer releases.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod backup;
mod fixture;
mod import;
mod import_moved;
mod load;
mod newer_version;
mod older_server;
mod operator_state;
mod process;
mod proxy;
mod restore;
