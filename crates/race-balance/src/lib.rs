//! Chooses where each attempt of a race goes: to the endpoint with the lowest learnt latency times
//! attempts in flight, of up to eight. One that keeps failing is left out.
//!
//! ```
//! use std::{io, time::Duration};
//! use race_balance::Balance;
//! use race_thread::Race;
//!
//! async fn fetch(host: &str) -> io::Result<String> {
//!     Ok(format!("the answer of {host}"))
//! }
//!
//! // Share one among all requests to a service.
//! let balance = Balance::new(["one.example", "two.example", "three.example"]);
//!
//! let targets = balance.targets();
//! let attempt = |_| targets.try_run(fetch);
//! let race = Race::from_fn(Duration::from_millis(50), attempt).max_attempts(2);
//! let won = pollster::block_on(race.first_ok())?;
//! assert!(won.output.starts_with("the answer of "));
//! # Ok::<(), race_core::RaceError<usize, io::Error>>(())
//! ```
//!
//! - A [`Balance`] has the endpoints of a service, with their learnt latencies and the attempts in
//!   flight.
//! - [`Targets`] are the endpoints of one race: no attempt goes where an earlier one went, while
//!   there are others. Set `max_attempts`: targets have no end.
//! - A [`Lease`] is an attempt in flight. It is part of the attempt's future, so a cancelled attempt
//!   no longer counts.
//! - `Balanced` (feature `tower`) is for the layers of `race-tower`.
//!
//! # Which endpoint
//!
//! For each attempt up to eight random endpoints are compared ([`Balance::choices`]), and the one
//! with the lowest *latency × (attempts in flight + 1)* is chosen (after Mitzenmacher, *The Power of
//! Two Choices in Randomized Load Balancing*, IEEE TPDS 12(10), 2001). Equal ones are decided at
//! random. The latency is an exponentially weighted moving average that rises to a longer sample at
//! once (Peak EWMA, from Twitter's Finagle). A cancelled attempt that ran longer than the average
//! raises it, too. The older a latency is, the closer it is drawn to the mean, and a forgotten one
//! counts as the lowest: an endpoint that was slow is tried again, and is not mistaken for the
//! fastest.
//!
//! # Endpoints that are skipped
//!
//! A failure counts as a longer latency for one [`decay`](Balance::decay). After some failures in a
//! row the endpoint is ejected ([`Balance::ejection`]). An attempt goes, of those that are left by
//! each line, to one of the first line that has any:
//!
//! 1. an endpoint whose ejection has ended, as the trial;
//! 2. one that is neither ejected nor asked for a pause, and was not used by the race;
//! 3. such a one that was used, but not by the attempt before;
//! 4. that of the attempt before, unless it is ejected or asked for a pause;
//! 5. an ejected one;
//! 6. the one whose pause ends first.
//!
//! So a hedge goes where the first attempt went before it goes to an ejected endpoint. An ejected
//! endpoint is likely to fail again, and a slow request is often fast when it is repeated.
//!
//! Servers need not help. Where they report their queues, there are better rules: C3 (L. Suresh et
//! al., NSDI 2015) and Prequal (B. Wydrowski et al., NSDI 2024).
#![cfg_attr(docsrs, feature(doc_cfg))]

mod cost;
mod ejection;
mod endpoint;
mod estimate;
mod health;
mod label;
mod monotonic;
mod order;

mod balance;
#[cfg(feature = "tower")]
mod balanced;
mod classify;
mod lease;
#[cfg(feature = "tower")]
mod readiness;
#[cfg(feature = "tower")]
mod rules;
mod targets;

pub use race_core;

pub use balance::{Balance, Load, NoEndpoints};
#[cfg(feature = "tower")]
#[cfg_attr(docsrs, doc(cfg(feature = "tower")))]
pub use balanced::{Balanced, BalancedService, Slot};
pub use classify::{Always, Classify, ErrBy, OkOnly};
pub use ejection::Ejection;
pub use lease::{Lease, Leased};
pub use monotonic::Monotonic;
#[cfg(feature = "tower")]
#[cfg_attr(docsrs, doc(cfg(feature = "tower")))]
pub use rules::{ByRules, LayerRules};
pub use targets::Targets;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
