//! Happy Eyeballs on the virtual clock.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod go;
mod host;
mod memory;
mod resolution;
mod starts;
