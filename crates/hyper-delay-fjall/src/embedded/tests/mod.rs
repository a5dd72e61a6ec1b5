//! Stores whose files were cut, damaged or deleted while they were closed.

mod accept;
mod clear;
mod damaged;
mod directory;
mod loss;
mod memtables;
mod tail;
mod tool;
