//! The configuration of the server.
//!
//! [`Config::load`] reads a JSON file. Every field is optional; unknown fields and values out of
//! range are errors. `CONFIGURATION.md` has the table of the fields.

mod hedge;
mod hosts;
mod sync;

mod error;
mod object;

mod read;
mod values;

mod load;
mod reload;

pub use error::ConfigError;
pub use hosts::AllowedHosts;
pub use load::{Loaded, Source};
pub use reload::Changes;
pub use sync::Sync;
pub use values::Config;

#[cfg(test)]
mod tests;
