//! Staggered racing of async attempts, on any runtime.
//!
//! Attempt 0 starts at once, attempt 1 a delay later, and so on. The first good answer wins, and
//! the other attempts are cancelled. For hedged requests, Happy Eyeballs, fallback chains and
//! rate-limited fan-out.
//!
#![cfg_attr(feature = "std", doc = "```")]
#![cfg_attr(not(feature = "std"), doc = "```ignore")]
//! use std::{io, time::Duration};
//! use race::{Race, thread::sleep};
//!
//! async fn fetch(mirror: &str) -> Result<String, io::Error> {
//!     let latency = if mirror == "one.example" { 500 } else { 20 };
//!     sleep(Duration::from_millis(latency)).await;
//!     Ok(format!("the file, from {mirror}"))
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let mirrors = ["one.example", "two.example", "three.example"];
//! let race = Race::of(Duration::from_millis(50), mirrors.map(fetch));
//! let won = pollster::block_on(race.first_ok())?;
//! println!("#{} won after {:?}: {}", won.index, won.elapsed, won.output);
//! # Ok(())
//! # }
//! ```
//!
//! It prints a line such as `#1 won after 70.2ms: the file, from two.example`. The third mirror is
//! not contacted.
//!
//! # Where to read on
//!
//! - [`GenericRace`] documents races: constructors, options such as `max_in_flight` and `budget`,
//!   finishers such as `first_ok` and `quorum`, and what a race guarantees. The types named `Race`
//!   are aliases of it.
//! - [`RaceOptions`] holds the limits of a race, for a client that stores them.
//! - A [`Policy`] gives the delays: a `Duration`, [`Steps`], [`GrowingDelay`], [`Backoff`],
//!   `Adaptive`, a closure.
//! - An [`Observer`](observe::Observer) receives events: [`Counters`](observe::Counters),
//!   [`Staircase`](observe::Staircase), [`observe::Traced`](observe).
//! - [`Attempts`] is the set of futures that a race runs, for use without a race.
//! - The modules have what fewer programs name: [`policy`] (gates, budgets), `adaptive`,
//!   [`observe`], [`outcome`], [`source`], [`placement`], [`stagger`], [`handle`], and
//!   `test` with the virtual clock. They are those of the core.
//!
//! # Runtimes
//!
//! Choose the `Race` of your runtime. The default, [`Race`], works with any executor: one
//! background thread drives the timers of the whole process.
//!
//! | runtime | feature | race with | timer, resolution | platform |
//! | --- | --- | --- | --- | --- |
//! | any, or none | `std`, on by default | [`Race`], which is `race::thread::Race` | `ThreadTimer`, the system's | any with threads |
//! | tokio | `tokio` | `race::tokio::Race` | `TokioTimer`, 1 ms; follows a paused clock | any that tokio supports |
//! | smol | `smol` | `race::smol::Race` | `SmolTimer`, the system's | Unix, Windows |
//! | async-std, which is discontinued | `async-io` | `race::async_io::Race` | `AsyncIoTimer`, the system's | Unix, Windows |
//! | a browser, a worker, Node | `web` | `race::web::Race`; with `std` also [`Race`] | `WebTimer`, 1 ms | `wasm32-unknown-unknown` |
//! | embassy | `embassy` | `race::embassy::Race` | `EmbassyTimer`, a tick | any, `no_std` |
//! | embassy, without an allocator | none, of the crate `race-embassy` | `race_embassy::InlineRace::<4, _>`; as a stream, pinned | `EmbassyTimer`, a tick | any, `no_std` |
//! | bare metal, your own | none, with `default-features = false` | [`race::core::Race`](core::Race)`::at(timer).of(..)` | your [`Timer`] | any, `no_std`; without compare-and-swap, with the feature `portable-atomic` |
//! | your own, without an allocator | none, of the crate `race-core` | [`race_core::InlineRace`](InlineRace)`::<4, _, _>::at(timer).of(..)`; as a stream, pinned | your [`Timer`] | any, `no_std`, also without compare-and-swap |
//! | a test | `test-util` | [`race::core::Race`](core::Race)`::at(clock.timer()).of(..)` | `race::test::VirtualClock`, exact; takes no time | any with `std` |
//!
//! On `wasm32-unknown-unknown` no thread can be started, so `std` needs `web` there: [`Race`] is
//! then `race::web::Race`, and the module `thread` does not exist. `std` without `web` does not
//! compile.
//!
//! Tests on tokio's paused clock need `race::tokio::Race`: the clock of [`Race`] does not pause.
//!
//! Import what you use by name, as in `use race::tokio::Race`. A `use race::*` hides the crates
//! `tokio`, `smol`, `async_io` and `core` behind the modules with those names.
//!
//! If the compiler reports that `race::tokio` or another of these modules is *configured out*,
//! enable the feature in its row.
//!
//! # Features
//!
//! Features only add. Any of them can be enabled together, and none changes the meaning of a name.
//!
//! | feature | adds |
//! | --- | --- |
//! | `std` (default) | [`Race`] and the module `thread`; jitter without a seed |
//! | `tokio`, `smol`, `async-io`, `embassy`, `web` | the module of that runtime; see above |
//! | `adaptive` | `Adaptive`, a learnt delay, and the module `adaptive`; uses the standard library |
//! | `tracing` | `observe::Traced`, an observer that emits spans and events |
//! | `coarsetime` | `observe::CoarseClock`, cheap to read, for observers; uses the standard library |
//! | `conformance` | `test::conformance`, the checks for timers |
//! | `test-util` | `test::VirtualClock`, and a time limit in `test::conformance`; uses the standard library |
//! | `portable-atomic` | atomics for targets without compare-and-swap |
//!
// Without `std`, the link leads to the race without a timer.
#![cfg_attr(not(feature = "std"), doc = "[`Race`]: crate::core::Race")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(all(
    feature = "std",
    not(feature = "web"),
    target_family = "wasm",
    target_os = "unknown"
))]
compile_error!(
    "`race::Race` of the feature `std` needs a thread, which this target cannot start: enable the \
     feature `web` of `race` for browsers, workers and Node, or set `default-features = false` and \
     bring a `Timer` of your own"
);

/// The core: races with a [`Timer`] of your own, and all parts of a race.
pub use race_core as core;

#[cfg(feature = "async-io")]
#[cfg_attr(docsrs, doc(cfg(feature = "async-io")))]
pub use race_async_io as async_io;
#[cfg(feature = "embassy")]
#[cfg_attr(docsrs, doc(cfg(feature = "embassy")))]
pub use race_embassy as embassy;
#[cfg(feature = "smol")]
#[cfg_attr(docsrs, doc(cfg(feature = "smol")))]
pub use race_smol as smol;
#[cfg(all(
    feature = "std",
    not(all(target_family = "wasm", target_os = "unknown"))
))]
#[cfg_attr(docsrs, doc(cfg(feature = "std")))]
pub use race_thread as thread;
#[cfg(feature = "tokio")]
#[cfg_attr(docsrs, doc(cfg(feature = "tokio")))]
pub use race_tokio as tokio;
#[cfg(feature = "web")]
#[cfg_attr(docsrs, doc(cfg(feature = "web")))]
pub use race_web as web;

#[cfg(all(
    feature = "std",
    not(all(target_family = "wasm", target_os = "unknown"))
))]
#[cfg_attr(docsrs, doc(cfg(feature = "std")))]
pub use race_thread::Race;
#[cfg(all(
    feature = "std",
    feature = "web",
    target_family = "wasm",
    target_os = "unknown"
))]
pub use race_web::Race;

#[cfg(any(feature = "conformance", feature = "test-util"))]
#[cfg_attr(docsrs, doc(cfg(any(feature = "conformance", feature = "test-util"))))]
pub use race_core::test;
#[cfg(feature = "adaptive")]
#[cfg_attr(docsrs, doc(cfg(feature = "adaptive")))]
pub use race_core::{Adaptive, adaptive};
pub use race_core::{
    AttemptHandle, Attempts, Backoff, BoxTimer, Budget, CatchUp, Decision, Failed, Failure, First,
    GenericRace, GrowingDelay, InlineRace, InlineRaceError, Moment, NextAttempt, OnFailure, Policy,
    QuorumError, RaceAt, RaceError, RaceOptions, Retry, Stagger, Steps, Timer, Verdict, Won,
    handle, observe, outcome, placement, policy, source, stagger,
};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod english {}

#[cfg(doctest)]
#[doc = include_str!("../../../README.zh-CN.md")]
mod chinese {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/async-std.md")]
mod coming_from_async_std {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/hedging.md")]
mod hedging {}
