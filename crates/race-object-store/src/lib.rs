//! Hedged reads of object stores, on any runtime: a wrapper of
//! [`ObjectStore`](object_store::ObjectStore) that cuts the slow tail of S3 GETs.
//!
//! A read that is not answered within a delay is sent again. The first answer wins, and the other
//! attempts are dropped at once. A body that stalls is continued by a GET for the rest of the same
//! version of the object. Writes, deletes, copies and lists are passed on unchanged.
//!
#![cfg_attr(feature = "tokio", doc = "```")]
#![cfg_attr(not(feature = "tokio"), doc = "```ignore")]
//! use std::time::Duration;
//! use object_store::{ObjectStoreExt, memory::InMemory};
//! use race_object_store::tokio::HedgedStore;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> object_store::Result<()> {
//! let s3 = InMemory::new(); // or an `AmazonS3`, or an `Arc<dyn ObjectStore>`
//! let store = HedgedStore::new(s3, Duration::from_millis(50)).deadline(Duration::from_secs(5));
//! store.put(&"a/b".into(), "hello".into()).await?;
//! let bytes = store.get(&"a/b".into()).await?.bytes().await?;
//! assert_eq!(bytes, "hello");
//! # Ok(())
//! # }
//! ```
//!
//! [`GenericHedgedStore`] documents the options, what decides a read, and what happens to a body that
//! stalls.
//!
//! - `AdaptiveDelays` (feature `adaptive`) learn a delay for each [`ReadClass`]; a `Duration` is a
//!   fixed one.
//! - [`classify`] says which errors are answers.
//! - [`TimeoutError`] is the source of the error of a read that timed out.
//!
//! # Features
//!
//! | feature | adds |
//! | --- | --- |
//! | `std` (default) | [`HedgedStore`], with a timer that works on any executor |
//! | `tokio`, `smol`, `async-io` | the module of that runtime, with its `HedgedStore` |
//! | `adaptive` | `AdaptiveDelays`, learnt delays |
//! | `tracing` | `Traced`, an observer that emits spans and events |
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "adaptive")]
mod adaptive;
mod body;
#[cfg(feature = "adaptive")]
mod class_delay;
mod classify;
mod debug;
mod delays;
mod error;
mod odd_range;
mod read_class;
mod reads;
mod store;

pub use object_store;
pub use race_core;

pub use classify::classify;
pub use delays::Delays;
pub use error::TimeoutError;
pub use read_class::{ReadClass, SizeClass};
pub use store::GenericHedgedStore;
#[cfg(feature = "adaptive")]
#[cfg_attr(docsrs, doc(cfg(feature = "adaptive")))]
pub use {
    adaptive::AdaptiveDelays,
    class_delay::{ClassDelay, ClassPolicy},
};

/// A [`GenericHedgedStore`] that works on any executor: its timer is driven by a thread.
#[cfg(feature = "std")]
#[cfg_attr(docsrs, doc(cfg(feature = "std")))]
pub type HedgedStore<S, D, O = ()> = GenericHedgedStore<S, race_thread::ThreadTimer, D, O>;

macro_rules! runtime {
    ($module:ident, $feature:literal, $timer:path) => {
        #[doc = concat!("Hedging with the timer of the feature `", $feature, "`.")]
        #[cfg(feature = $feature)]
        #[cfg_attr(docsrs, doc(cfg(feature = $feature)))]
        pub mod $module {
            /// A [`GenericHedgedStore`](crate::GenericHedgedStore) with the timer of this runtime.
            pub type HedgedStore<S, D, O = ()> = crate::GenericHedgedStore<S, $timer, D, O>;
        }
    };
}

runtime!(tokio, "tokio", race_tokio::TokioTimer);
runtime!(smol, "smol", race_smol::SmolTimer);
runtime!(async_io, "async-io", race_async_io::AsyncIoTimer);

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
