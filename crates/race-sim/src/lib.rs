//! Simulates hedged requests: servers with queues, clients that run real [`Race`]s on a virtual
//! clock, and the latencies and the load that result.
//!
//! [`Race`]: race_core::Race
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//! use race_core::Adaptive;
//! use race_sim::{Hedged, Random, Report, Service, Simulation, TwoChoices};
//!
//! let service = Service::exponential(Duration::from_millis(10)).slow(0.02, 10.0);
//! let simulation = Simulation::new(service).load(0.6).requests(5_000, 500).seeds(3);
//! let never = simulation.run("never", |_| Hedged::never(Random));
//! let hedged = simulation.run("5 %, two choices", |_| {
//!     Hedged::new(Arc::new(Adaptive::extra_load(5.0)), TwoChoices::default())
//! });
//! println!("{}\n{never}\n{hedged}", Report::HEAD);
//! assert!(hedged.percentile(99.0) < never.percentile(99.0) / 2);
//! ```
//!
//! - [`Simulation`] has the servers, the arrivals and the network.
//! - A [`Client`] answers requests: an async closure that calls [`Request::send`], or [`Hedged`], a
//!   race with a policy and a [`Route`].
//! - A [`Report`] has the figures, as medians over several seeds.
//!
//! The network is simple on purpose: attempts and replies arrive at once, and a setting says how
//! long cancellations take. Every attempt is answered unless it is cancelled; servers do not fail.
//! A run ends when all requests are answered and all servers are idle.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod random;
mod service;
mod simulation;

mod client;
mod engine;
mod hedged;
mod request;
mod route;

#[cfg(feature = "chart")]
mod chart;
mod report;
mod run;

pub use race_core;

#[cfg(feature = "chart")]
#[cfg_attr(docsrs, doc(cfg(feature = "chart")))]
pub use chart::chart;
pub use client::Client;
pub use hedged::Hedged;
pub use report::Report;
pub use request::{Reply, Request, Setup};
pub use route::{Counted, Random, ReportedChoices, Route, TwoChoices};
pub use run::Run;
pub use service::Service;
pub use simulation::{Losers, Simulation};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
