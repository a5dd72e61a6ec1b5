//! Hedged requests and staggered fail-over as a [tower](https://docs.rs/tower) layer, on any
//! runtime.
//!
//! A request that is not answered within a delay is sent again, to the same service or to another
//! replica. The first good answer wins, and the other attempts are dropped at once.
//!
#![cfg_attr(feature = "tokio", doc = "```")]
#![cfg_attr(not(feature = "tokio"), doc = "```ignore")]
//! use std::time::Duration;
//! use race_tower::tokio::HedgeLayer;
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! # use std::sync::atomic::{AtomicUsize, Ordering};
//! # static ASKED: AtomicUsize = AtomicUsize::new(0);
//! // The first request is slow.
//! let server = service_fn(|name: &'static str| async move {
//!     let millis = if ASKED.fetch_add(1, Ordering::Relaxed) == 0 { 500 } else { 20 };
//!     tokio::time::sleep(Duration::from_millis(millis)).await;
//!     Ok::<_, std::io::Error>(format!("hello {name}"))
//! });
//! let mut service = ServiceBuilder::new()
//!     .layer(HedgeLayer::new(Duration::from_millis(50)))
//!     .service(server);
//! let answer = service.ready().await.unwrap().call("world").await.unwrap();
//! assert_eq!(answer, "hello world"); // after 70 ms
//! # }
//! ```
//!
//! [`GenericHedgeLayer`] documents the options: more attempts, rules for failures, a budget,
//! timeouts, observers.
//!
//! - [`Rules`] say how a request is repeated, whether it may be, and whether an answer is good.
//! - The module `http` has rules for HTTP and gRPC, and bodies that can be sent again.
//! - [`Replicas`] send each attempt to another server.
//! - [`HedgeCounters`] count what hedging does, under a label.
//! - [`HedgeError`] is the error: that of the service, or a timeout.
//!
//! Import what you use by name: a `use race_tower::*` hides the crates `tokio`, `smol` and
//! `async_io` behind the modules with those names.
//!
//! # Features
//!
//! | feature | adds |
//! | --- | --- |
//! | `std` (default) | [`HedgeLayer`], with a timer that works on any executor |
//! | `tokio`, `smol`, `async-io` | the module of that runtime, with its `HedgeLayer` |
//! | `http` | the module [`http`]: rules for HTTP and gRPC, and bodies that can be sent again |
//! | `adaptive` | `Adaptive`, a learnt delay: pass an `Arc<Adaptive>` as the delay |
//! | `metrics` | `Metrics`, an observer that feeds the facade `metrics` |
//! | `tracing` | `Traced`, an observer that emits spans and events |
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attempt;
mod backends;
mod beginning;
mod counters;
mod end;
mod error;
mod first_ready;
mod future;
#[cfg(feature = "http")]
#[cfg_attr(docsrs, doc(cfg(feature = "http")))]
pub mod http;
mod layer;
#[cfg(feature = "metrics")]
mod metrics;
mod replicas;
mod requests;
mod rules;
mod service;
mod tally;

pub use race_core;

pub use backends::{Backends, Copies};
pub use beginning::Beginning;
pub use counters::{HedgeCounters, HedgeCounts};
pub use end::AttemptEnd;
pub use error::HedgeError;
pub use first_ready::FirstReady;
pub use future::HedgeFuture;
pub use layer::GenericHedgeLayer;
#[cfg(feature = "metrics")]
#[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
pub use metrics::Metrics;
pub use replicas::{Replica, Replicas};
pub use rules::{CloneRequests, FnRules, Rules};
pub use service::Hedge;

/// A [`GenericHedgeLayer`] that works on any executor: its timer is driven by a thread.
#[cfg(feature = "std")]
#[cfg_attr(docsrs, doc(cfg(feature = "std")))]
pub type HedgeLayer<D, R = CloneRequests, O = ()> =
    GenericHedgeLayer<race_thread::ThreadTimer, D, R, O>;

macro_rules! runtime {
    ($module:ident, $feature:literal, $timer:path) => {
        #[doc = concat!("Hedging with the timer of the feature `", $feature, "`.")]
        #[cfg(feature = $feature)]
        #[cfg_attr(docsrs, doc(cfg(feature = $feature)))]
        pub mod $module {
            /// A [`GenericHedgeLayer`](crate::GenericHedgeLayer) with the timer of this runtime.
            pub type HedgeLayer<D, R = crate::CloneRequests, O = ()> =
                crate::GenericHedgeLayer<$timer, D, R, O>;

            /// The service that this layer makes of a service `S`, to write down its type.
            pub type Hedge<S, D, R = crate::CloneRequests, O = ()> =
                crate::Hedge<crate::Copies<S>, $timer, D, R, O>;
        }
    };
}

runtime!(tokio, "tokio", race_tokio::TokioTimer);
runtime!(smol, "smol", race_smol::SmolTimer);
runtime!(async_io, "async-io", race_async_io::AsyncIoTimer);

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
