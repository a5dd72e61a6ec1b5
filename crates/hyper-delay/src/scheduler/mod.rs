//! When what is delivered to whom: all that the server knows and does not have to ask the disk for.
//!
//! The scheduler is a state machine without threads, sockets or clock. It is told what has happened ([`Input`])
//! and what time it is, and says what is to be done ([`Effects`]): jobs for the committer, messages to
//! connections. What it holds in memory is bounded: the tasks of the near future (the *window*), what waits for
//! a consumer to have room, and what is in flight; the disk holds all.
//!
//! Every change of a task on disk is a [`Job`], and comes back as [`Committed`] in the order in which they were
//! asked for. While a task waits for one of its own it is *changing*, and nothing else begins with it.

mod answer;
mod backlog;
mod committed;
mod consumer;
mod delivery;
mod departed;
mod due;
mod hedge;
mod input;
mod live;
mod requests;
mod route;
mod settings;
mod stats;
mod tick;
mod window;

use std::{collections::HashMap, sync::Arc, time::Duration};

use race_wheel::{Tick, Wheel};
use rustc_hash::{FxHashMap, FxHashSet};

pub use hedge::{Fate, Round};
pub use input::{Ask, Committed, ConsumerId, Effects, Input, Job, Message, Token};
pub use settings::Settings;
pub use tick::Next;

use crate::{
    clock::{Now, nanos},
    store::Store,
};
use consumer::Consumer;
use departed::Departed;
use due::Promised;
use live::Live;
use route::Route;
use window::Window;

/// The state machine. See the [module](self).
#[derive(Debug)]
pub struct Scheduler<S> {
    settings: Settings,
    store: Arc<S>,
    random: fastrand::Rng,
    now: Now,
    wheel: Wheel<Timer>,
    /// What is in memory, by revision.
    tasks: FxHashMap<u64, Live>,
    window: Window,
    routes: HashMap<Arc<str>, Route>,
    consumers: FxHashMap<ConsumerId, Consumer>,
    /// Registrations of all connections, those of departed ones included.
    registrations: usize,
    departed: Departed,
    promised: Promised,
    /// Routes that may have room for what is parked for them.
    wanting: FxHashSet<Arc<str>>,
    rounds: hedge::Rounds,
    effects: Effects,
    unknown_acks: u64,
    /// Whether the server is about to end: nothing is delivered any more, and no round fails for that.
    ending: bool,
    /// The low-water mark that was told to the ledger last, and when the next is due.
    mark: u64,
    next_mark: Tick,
}

/// What the wheel waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Timer {
    /// A task is due.
    Due(u64),
    /// An answer is overdue.
    Answer { consumer: ConsumerId, id: Arc<str> },
}

impl<S: Store> Scheduler<S> {
    /// A scheduler for what a store has, of which nothing waits before `low_water` (Unix milliseconds).
    #[must_use]
    pub fn new(store: Arc<S>, settings: Settings, low_water: u64, now: Now) -> Self {
        Self {
            wheel: Wheel::new(nanos(Duration::from_millis(settings.tick_millis))),
            window: Window::new(low_water, now),
            settings,
            store,
            random: fastrand::Rng::new(),
            now,
            tasks: FxHashMap::default(),
            routes: HashMap::new(),
            consumers: FxHashMap::default(),
            registrations: 0,
            departed: Departed::default(),
            promised: Promised::default(),
            wanting: FxHashSet::default(),
            rounds: hedge::Rounds::default(),
            effects: Effects::default(),
            unknown_acks: 0,
            ending: false,
            mark: low_water,
            next_mark: now.monotonic,
        }
    }

    /// What is to be done, since this was last asked.
    pub fn take_effects(&mut self) -> Effects {
        std::mem::take(&mut self.effects)
    }

    /// Whether no job is under way: everything that was asked for is on disk.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.promised.is_empty()
    }
}

#[cfg(test)]
mod tests;
