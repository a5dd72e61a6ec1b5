//! Stores whose files were cut, damaged or deleted while they were closed.

mod accept_loss;
mod clear;
mod damaged_tables;
mod directory;
mod fixture;
mod journal_tail;
mod loss;
mod memtables;
