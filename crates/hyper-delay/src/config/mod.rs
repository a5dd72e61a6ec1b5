//! What the server is told before it starts.
//!
//! [`Config::load`] reads a JSON file, in which every field may be absent, and refuses what it does not
//! know and what makes no sense. `CONFIGURATION.md` has the table of the fields.

mod hedge;
mod hosts;
mod sync;

mod error;
mod object;

mod read;
mod values;

mod load;

pub use error::ConfigError;
pub use hosts::AllowedHosts;
pub use load::{Loaded, Source};
pub use sync::Sync;
pub use values::Config;

#[cfg(test)]
mod tests;
