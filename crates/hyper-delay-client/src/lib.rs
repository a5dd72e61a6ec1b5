#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod client;

mod builder;
mod settings;

mod compression;
mod receipt;
mod task;

mod deliveries;
mod delivery;
mod end;
mod listen;
mod nack;
mod subscribe;
mod unanswered;

mod dead;
mod stats;

mod error;
mod refusal;

mod engine;

mod backoff;
mod time;
mod wire;

pub use builder::Builder;
pub use client::Client;
pub use compression::Compression;
pub use dead::{DeadLetter, DeadLetters, DeadQuery};
pub use deliveries::Deliveries;
pub use delivery::Delivery;
pub use end::End;
pub use error::{CloseError, ConnectError, ListenError, RequestError};
pub use listen::Listen;
pub use nack::Nack;
pub use receipt::{Cancelled, Receipt};
pub use refusal::{Code, Refusal};
pub use stats::{RouteStats, Stats, StatsQuery};
pub use subscribe::Subscribe;
pub use task::Task;
pub use unanswered::Unanswered;
