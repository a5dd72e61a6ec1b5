//! Staggered racing of async attempts, on any executor.
//!
//! Attempt 0 starts at once, attempt 1 a step later, and so on; the fastest wins, whatever its
//! place. For hedged requests, Happy Eyeballs, fallback chains and rate-limited fan-out.
//!
//! This is the core. Most programs want `race` or one of the adapters (`race-tokio`,
//! `race-async-io`, `race-smol`), which add a timer. Here are the layers, each usable alone, in the
//! order in which a race goes through them:
//!
//! - a [`source::Source`] gives candidates;
//! - a [`Stagger`] says when the next may start: a pure state machine, with a [`Policy`] for the
//!   step ([`Fixed`], [`Steps`], [`Backoff`], `Adaptive`, a closure), for gates and for budgets, and with
//!   rules for what a failure starts ([`OnFailure`]) and for what was missed ([`CatchUp`]);
//! - [`Attempts`] runs them, polling only those that were woken;
//! - [`Race`] joins these, and is a stream of every completion; [`InlineRace`] is a race without an
//!   allocator;
//! - [`First`] and [`Decision`] end it: with the first, the first that is accepted by a [`Verdict`], a
//!   quorum, and within limits of time;
//! - an [`Observer`] is told what happens: [`Counters`], [`Staircase`], `Traced`;
//! - a [`Timer`] tells the time, in [`Moment`]s, and wakes.
//!
//! # Features
//!
//! None is on by default: without them the crate needs no allocator.
//!
//! | feature | adds |
//! | --- | --- |
//! | `alloc` | [`Race`], [`Attempts`], [`Decision`], [`Budget`], [`Observer`] |
//! | `tracing` | `Traced`, an observer that emits spans and events |
//! | `coarsetime` | `CoarseClock`, cheap to read, for observers; needs `std` |
//! | `portable-atomic` | atomics for targets without compare-and-swap |
//! | `adaptive` | [`Adaptive`], a step that is learnt; needs `std` |
//! | `test-util` | [`VirtualClock`] and the [`conformance`] suite for timers; needs `std` |

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(all(
    feature = "alloc",
    not(feature = "portable-atomic"),
    not(target_has_atomic = "ptr")
))]
compile_error!(
    "this target has no compare-and-swap: turn on the feature `portable-atomic` of `race-core`, and \
     choose how it is done there (see the crate `portable-atomic`); or race without `alloc`, in place"
);

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(test, feature = "adaptive", feature = "test-util"))]
extern crate std;

pub mod ends;
pub mod source;

mod moment;
mod timer;

mod policy;
mod stagger;

mod attempts;
mod course;
mod racing;
#[cfg(feature = "alloc")]
mod sync;

mod observe;
#[cfg(feature = "alloc")]
mod race;
mod rules;

#[cfg(feature = "adaptive")]
mod adaptive;

#[cfg(feature = "test-util")]
pub mod conformance;
#[cfg(feature = "test-util")]
mod virtual_clock;

pub use moment::Moment;
pub use timer::Timer;

pub use policy::{Backoff, Fixed, Gated, Policy, Standing, Steps, Suppressed};
pub use stagger::{CatchUp, Next, OnFailure, Stagger};

pub use attempts::InlineRace;
pub use ends::{First, NoCandidates, Won};
pub use observe::{Clock, Event, What};

#[cfg(feature = "alloc")]
pub use {
    attempts::Attempts,
    ends::{Decision, Failed, Failure, QuorumError, RaceError, Tally, Verdict},
    observe::{Counters, Counts, Observed, Observer, Staircase},
    policy::{Budget, Budgeted},
    race::Race,
};

#[cfg(feature = "adaptive")]
pub use adaptive::Adaptive;
#[cfg(feature = "coarsetime")]
pub use observe::CoarseClock;
#[cfg(feature = "tracing")]
pub use observe::Traced;

#[cfg(feature = "test-util")]
pub use virtual_clock::{Deadlock, VirtualClock, VirtualSleep, VirtualTimer};
