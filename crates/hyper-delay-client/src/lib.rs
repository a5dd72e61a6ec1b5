#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;

mod builder;
mod settings;
#[cfg(feature = "tls")]
mod tls;
mod token;

#[cfg(any(feature = "lz4", feature = "zstd"))]
mod codec;
mod compression;
mod payloads;
mod receipt;
mod task;

mod deliveries;
mod delivery;
mod end;
mod listen;
mod nack;
mod subscribe;
mod unanswered;

mod audit;
mod backup;
mod bulk;
mod content;
mod dead;
mod forecast;
mod last_failure;
mod list;
mod operations;
mod query;
mod reasons;
mod stats;

mod error;
mod refusal;

mod engine;

mod backoff;
mod time;
mod wire;

pub use audit::{Audit, AuditLine, AuditQuery};
pub use backup::Backup;
pub use builder::Builder;
pub use bulk::{Bulk, Count, Job};
pub use client::Client;
#[cfg(any(feature = "lz4", feature = "zstd"))]
pub use codec::Codec;
pub use compression::Compression;
pub use content::Content;
pub use dead::{DeadLetter, DeadLetters, DeadQuery};
pub use deliveries::Deliveries;
pub use delivery::Delivery;
pub use end::End;
pub use error::{CloseError, ConnectError, ListenError, RequestError};
pub use forecast::Forecast;
pub use last_failure::{FailureKind, LastFailure};
pub use list::{GetQuery, ListQuery, TaskInfo, TaskList, TaskState};
pub use listen::Listen;
pub use nack::Nack;
pub use reasons::{Reason, Reasons, ReasonsQuery};
pub use receipt::{Cancelled, Moved, Receipt};
pub use refusal::{Code, Refusal};
pub use stats::{RouteStats, Stats, StatsQuery};
pub use subscribe::Subscribe;
pub use task::Task;
#[cfg(feature = "tls")]
pub use tls::{Tls, TlsError};
pub use token::{Token, TokenError};
pub use unanswered::Unanswered;
