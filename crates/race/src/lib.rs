//! Staggered racing of async attempts: attempt 0 starts at once, the next a step later, and so on;
//! the fastest wins, whatever its place. For hedged requests, Happy Eyeballs, fallback chains and
//! rate-limited fan-out.
//!
//! It runs on any executor, and needs to be told nothing:
//!
#![cfg_attr(feature = "std", doc = "```")]
#![cfg_attr(not(feature = "std"), doc = "```ignore")]
//! use std::time::Duration;
//! use race::Race;
//!
//! # fn main() {
//! let servers = ["one.example", "two.example", "three.example"];
//! let race = Race::of(Duration::from_millis(50), servers.map(ask));
//! if let Ok(won) = pollster::block_on(race.first_ok()) {
//!     println!("#{} answered after {:?}: {}", won.place, won.elapsed, won.output);
//! }
//! # }
//!
//! async fn ask(server: &str) -> Result<String, std::io::Error> {
//!     // ...
//! #   Ok(server.to_owned())
//! }
//! ```
//!
//! # Which runtime, which feature
//!
//! [`Race`] has its timer on a thread of its own, one for the process. To have it on the clock of a runtime
//! that is there anyway, race with that runtime's `Race`. Features only add: any of them may be on together, and
//! none changes what a name means.
//!
//! | your runtime | feature | race with | timer, resolution | platform |
//! | --- | --- | --- | --- | --- |
//! | any, or none | `std`, on by default | [`race::Race`](Race), which is `race::thread::Race` | `ThreadTimer`, the system's | any with threads |
//! | tokio | `tokio` | `race::tokio::Race` | `TokioTimer`, 1 ms; follows a paused clock | wherever tokio has time |
//! | smol | `smol` | `race::smol::Race` | `SmolTimer`, the system's | Unix, Windows |
//! | async-std | `async-io` | `race::async_io::Race` | `AsyncIoTimer`, the system's | Unix, Windows |
//! | bare metal, a browser, your own | none, with `default-features = false` | [`race::core::Race`](core::Race)`::of_with(timer, ..)` | your [`Timer`] | any, `no_std` |
//! | the same, without an allocator | none, of the crate `race-core` | [`race_core::InlineRace`](InlineRace)`::<4, _, _>::of_with(timer, ..)`, pinned | your [`Timer`] | any, `no_std` |
//! | a test | `test-util` | [`race::core::Race`](core::Race)`::of_with(clock.timer(), ..)` | `VirtualClock`, exact; takes no time | any with `std` |
//!
//! Name what you use, as in `use race::tokio::Race`: a `use race::*` would hide the crates `tokio`,
//! `smol`, `async_io` and `core` behind the modules of those names.
//!
//! If the compiler says that `race::tokio` (or another of these modules) is *configured out*, turn
//! the feature of its row on: `cargo add race --features tokio`.
//!
//! What a race promises, when it starts what, and what is cancelled when, is said at
//! [`core::Race`]. Its methods change the rules, and end it with a winner, a quorum or everything.
//!
//! # Further features
//!
//! | feature | adds |
//! | --- | --- |
//! | `adaptive` | `Adaptive`, a delay that learns from what was slow |
//! | `tracing` | `Traced`, an observer that emits spans and events |
//! | `coarsetime` | `CoarseClock`, a cheap clock for observers |
//! | `test-util` | `VirtualClock`, and the conformance suite for timers |
//! | `portable-atomic` | atomics for targets without compare-and-swap |

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The core: everything a race is made of, for any [`Timer`].
pub use race_core as core;

#[cfg(feature = "async-io")]
#[cfg_attr(docsrs, doc(cfg(feature = "async-io")))]
pub use race_async_io as async_io;
#[cfg(feature = "smol")]
#[cfg_attr(docsrs, doc(cfg(feature = "smol")))]
pub use race_smol as smol;
#[cfg(feature = "std")]
#[cfg_attr(docsrs, doc(cfg(feature = "std")))]
pub use race_thread as thread;
#[cfg(feature = "tokio")]
#[cfg_attr(docsrs, doc(cfg(feature = "tokio")))]
pub use race_tokio as tokio;

#[cfg(feature = "std")]
#[cfg_attr(docsrs, doc(cfg(feature = "std")))]
pub use race_thread::Race;

#[cfg(feature = "adaptive")]
#[cfg_attr(docsrs, doc(cfg(feature = "adaptive")))]
pub use race_core::Adaptive;
#[cfg(feature = "coarsetime")]
#[cfg_attr(docsrs, doc(cfg(feature = "coarsetime")))]
pub use race_core::CoarseClock;
#[cfg(feature = "tracing")]
#[cfg_attr(docsrs, doc(cfg(feature = "tracing")))]
pub use race_core::Traced;
pub use race_core::{
    Attempts, Backoff, Budget, Budgeted, CatchUp, Clock, Counters, Counts, Decision, Event, Failed,
    Failure, First, Fixed, Gated, InlineRace, Moment, Next, NoCandidates, Observed, Observer,
    OnFailure, Policy, QuorumError, RaceError, Stagger, Staircase, Standing, Steps, Suppressed,
    Tally, Timer, Verdict, What, Won, ends, source,
};
#[cfg(feature = "test-util")]
#[cfg_attr(docsrs, doc(cfg(feature = "test-util")))]
pub use race_core::{Deadlock, VirtualClock, VirtualSleep, VirtualTimer, conformance};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod english {}

#[cfg(doctest)]
#[doc = include_str!("../../../README.zh-CN.md")]
mod chinese {}
