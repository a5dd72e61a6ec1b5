//! The configuration of the server.
//!
//! [`Config::load`] reads a JSON file. Every field is optional; unknown fields and values out of
//! range are errors. `CONFIGURATION.md` has the table of the fields.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod allowed_hosts;
mod cluster;
mod hedge;
mod http_hosts;
mod log_format;
mod quotas;
mod routes;
mod sync;
mod tls;

mod error;
mod exposure;
mod json_object;
mod route_patterns;
mod serialize_path;

mod cluster_checks;
mod config;
mod parse;

mod load;
mod reload;

pub use allowed_hosts::AllowedHosts;
pub use cluster::{Cluster, EtcdTlsFiles, EtcdUser, NodeTlsFiles};
pub use config::Config;
pub use error::ConfigError;
pub use exposure::{Exposed, Exposure};
pub use http_hosts::HttpHosts;
pub use load::{Loaded, Overrides, Source};
pub use log_format::LogFormat;
pub use parse::parse_address;
pub use quotas::Quota;
pub use reload::Changes;
pub use sync::Sync;
pub use tls::TlsFiles;

#[cfg(test)]
mod tests;
