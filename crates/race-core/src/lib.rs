//! Staggered racing of async attempts, on any executor.
//!
//! Attempt 0 starts at once, attempt 1 a delay later, and so on; the fastest wins. For hedged
//! requests, Happy Eyeballs, fallback chains and rate-limited fan-out.
//!
//! This crate is the core. Most programs use `race` or one of the adapters (`race-tokio`,
//! `race-async-io`, `race-smol`, `race-embassy`, `race-web`, `race-thread`), which add a timer:
//!
#![cfg_attr(all(feature = "alloc", feature = "test-util"), doc = "```")]
#![cfg_attr(not(all(feature = "alloc", feature = "test-util")), doc = "```ignore")]
//! use std::time::Duration;
//! use race_core::{Race, test::VirtualClock};
//!
//! let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
//! let ask = |server: &&'static str| {
//!     let (server, latency) = (*server, clock.sleep(ms(if *server == "one" { 500 } else { 20 })));
//!     async move {
//!         latency.await;
//!         Ok::<_, std::io::Error>(format!("the file, from {server}"))
//!     }
//! };
//! let race = Race::at(clock.timer()).new(ms(50), ask, ["one", "two", "three"]);
//! let won = clock.run(race.first_ok())??;
//! assert_eq!((won.index, won.output.as_str()), (1, "the file, from two"));
//! assert_eq!(won.elapsed, ms(70));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The layers, in the order in which a race passes through them; each can be used alone:
//!
//! - a [`source::Source`] gives the candidates;
//! - a [`Policy`] gives the delays: a `Duration`, [`Steps`], [`GrowingDelay`], [`Backoff`], `Adaptive`, a
//!   closure;
//! - a [`Stagger`], a pure state machine, decides when the next attempt may start, with rules for
//!   failures ([`OnFailure`]) and for missed starts ([`CatchUp`]);
//! - [`Attempts`] runs the attempts and polls only those that were woken;
//! - [`Race`] combines these and is a stream of every completion; [`InlineRace`] is a race without an
//!   allocator. Both are aliases of [`GenericRace`]. [`RaceOptions`] holds the limits of a race;
//! - an `AttemptHandle` lets an attempt make progress known, and commit before it is finished;
//! - [`First`] and [`Decision`] are the futures of the finishers;
//! - an [`Observer`] receives events: [`Counters`], [`Staircase`], `Traced`;
//! - a [`Timer`] tells the time, in [`Moment`]s, and wakes.
//!
//! What most programs name is at the root. The rest is in modules:
//!
//! | module | has |
//! | --- | --- |
//! | [`policy`] | delays, pauses, gates and budgets |
//! | `adaptive` | learnt delays; needs the feature `adaptive` |
//! | [`observe`] | events, their causes, and observers |
//! | [`outcome`] | the futures of the finishers, winners and errors |
//! | [`source`] | where candidates come from |
//! | [`placement`] | where running attempts are kept, and with which waker they are polled |
//! | [`stagger`] | the state machine that decides when to start |
//! | `handle` | the handles of attempts; needs the feature `alloc` |
//! | `test` | the virtual clock and the checks for timers; needs `test-util` or `conformance` |
//!
//! # Features
//!
//! None is on by default. Without any, the crate needs neither an allocator nor compare-and-swap,
//! and an [`InlineRace`] has every finisher but `quorum` and `into_args`.
//!
//! | feature | adds |
//! | --- | --- |
//! | `alloc` | [`Race`], [`Attempts`], `BoxTimer`; quorums, budgets and observers; attempts with handles |
//! | `std` | jitter without a seed; with `alloc`, `observe::Overrun` |
//! | `tracing` | `observe::Traced`, an observer that emits spans and events |
//! | `coarsetime` | `observe::CoarseClock`, cheap to read, for observers; needs `std` |
//! | `portable-atomic` | atomics for targets without compare-and-swap; for `alloc` |
//! | `adaptive` | `Adaptive`, a learnt delay, and the module `adaptive`; needs `std` |
//! | `conformance` | `test::conformance`, the checks for timers; needs neither `std` nor `alloc` |
//! | `test-util` | `test::VirtualClock`, and a time limit in `test::conformance`; needs `std` |
//!
// The links to the items of modules; without `alloc`, they lead to the table above.
#![cfg_attr(
    feature = "alloc",
    doc = "[`Counters`]: observe::Counters",
    doc = "[`Observer`]: observe::Observer",
    doc = "[`Staircase`]: observe::Staircase"
)]
#![cfg_attr(
    not(feature = "alloc"),
    doc = "[`Attempts`]: #features",
    doc = "[`Budget`]: #features",
    doc = "[`Counters`]: #features",
    doc = "[`Observer`]: #features",
    doc = "[`Race`]: #features",
    doc = "[`Staircase`]: #features"
)]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(all(
    feature = "alloc",
    not(feature = "portable-atomic"),
    not(target_has_atomic = "ptr")
))]
compile_error!(
    "this target has no compare-and-swap: enable the feature `portable-atomic` of `race-core` and choose \
     an implementation (see the crate `portable-atomic`), or race inline without `alloc`"
);

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(test, feature = "std", feature = "adaptive", feature = "test-util"))]
extern crate std;

#[cfg(feature = "adaptive")]
#[cfg_attr(docsrs, doc(cfg(feature = "adaptive")))]
pub mod adaptive;
#[cfg(feature = "alloc")]
#[cfg_attr(docsrs, doc(cfg(feature = "alloc")))]
pub mod handle;
pub mod observe;
pub mod outcome;
pub mod placement;
pub mod policy;
pub mod source;
pub mod stagger;
#[cfg(any(feature = "conformance", feature = "test-util"))]
#[cfg_attr(docsrs, doc(cfg(any(feature = "conformance", feature = "test-util"))))]
pub mod test;

mod attempts;
mod race;
#[cfg(feature = "alloc")]
mod sync;
mod time;

pub use {
    outcome::{Decision, Failed, Failure, First, InlineRaceError, Verdict, Won},
    policy::{Backoff, GrowingDelay, Policy, Steps},
    race::{GenericRace, InlineRace, NextAttempt, RaceAt, RaceOptions, Retry},
    stagger::{CatchUp, OnFailure, Stagger},
    time::{Moment, Timer},
};

#[doc(hidden)]
pub use {attempts::AttemptSet, policy::Hook, time::div_rem};

#[cfg(feature = "alloc")]
#[cfg_attr(docsrs, doc(cfg(feature = "alloc")))]
pub use {
    attempts::Attempts,
    handle::AttemptHandle,
    outcome::{QuorumError, RaceError},
    policy::Budget,
    race::Race,
    time::BoxTimer,
};

#[cfg(feature = "adaptive")]
#[cfg_attr(docsrs, doc(cfg(feature = "adaptive")))]
pub use adaptive::Adaptive;

#[cfg(all(doctest, feature = "test-util"))]
#[doc = include_str!("../README.md")]
mod readme {}
