//! The configuration of the server.
//!
//! [`Config::load`] reads a JSON file. Every field is optional; unknown fields and values out of
//! range are errors. `CONFIGURATION.md` has the table of the fields.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod cluster;
mod hedge;
mod hosts;
mod http_hosts;
mod log_format;
mod quotas;
mod routes;
mod sync;
mod tls;

mod by_route;
mod error;
mod exposure;
mod object;

mod read;
mod values;

mod load;
mod reload;

pub use cluster::{Cluster, EtcdTlsFiles, EtcdUser, NodeTlsFiles};
pub use error::ConfigError;
pub use exposure::{Exposed, Exposure};
pub use hosts::AllowedHosts;
pub use http_hosts::HttpHosts;
pub use load::{Loaded, Overrides, Source};
pub use log_format::LogFormat;
pub use quotas::Quota;
pub use read::parse_address;
pub use reload::Changes;
pub use sync::Sync;
pub use tls::TlsFiles;
pub use values::Config;

#[cfg(test)]
mod tests;
