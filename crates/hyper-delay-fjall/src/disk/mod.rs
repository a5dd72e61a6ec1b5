//! The disk of a store: the room on it, and the reserve for a full disk.

mod allocate;
mod flushing;
mod journal;
mod kept;
mod plan;
mod reserve;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

pub(super) use kept::Kept;
pub(super) use plan::Usage;

use flushing::Flushing;
use journal::JournalRoom;
use plan::{Plan, STEP};
use reserve::Reserve;

use hyper_delay_store::{COPIES, Room};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::store::disk";

/// How long the reserve does not grow after it gave room, or could not grow.
const REST: Duration = Duration::from_secs(1);

/// With at least this many free bytes, the disk is checked only once per [`LOOK`]. Batches of that
/// time take less.
const PLENTY: u64 = 4 << 30;
const LOOK: Duration = Duration::from_millis(50);

/// With fewer free bytes than this, the blocks of the journal are allocated in advance.
const TIGHT: u64 = 256 << 20;

/// Maximum number of bytes that are allocated in the journal for the new tasks of a batch.
const ALLOCATED_FOR_NEW_TASKS: u64 = 16 << 20;

/// Bytes that opening a store may write, because it flushes the contents of the journals.
const OPENING: u64 = 256 << 20;

/// Watches the room on the disk of a store, and keeps the reserve.
#[derive(Debug)]
pub(super) struct Disk {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `None` if the disk cannot be watched. Its room counts as ample then.
    reserve: Option<Reserve>,
    /// Maximum size of the reserve in bytes.
    most: u64,
    looked: Option<Instant>,
    rests_until: Option<Instant>,
    flushing: Flushing,
    journal: JournalRoom,
}

impl Disk {
    /// Opens the reserve of a data directory whose store is in the folder `store`. On an almost
    /// full disk it frees the reserve for the opening of the store.
    pub(super) fn open(directory: &Path, store: PathBuf) -> Self {
        let opened = Reserve::open(directory).and_then(|mut reserve| {
            if reserve.free()?.is_some_and(|free| free < OPENING) {
                reserve.resize(0)?;
            }
            Ok(reserve)
        });
        let reserve = opened.inspect_err(unwatched).ok();
        Self {
            state: Mutex::new(State {
                reserve,
                most: u64::MAX,
                looked: None,
                rests_until: None,
                flushing: Flushing::default(),
                journal: JournalRoom::new(store),
            }),
        }
    }

    /// Limits the size of the reserve, in bytes.
    pub(super) fn limit_reserve(&self, most: u64) {
        self.with(|state| state.most = most);
    }

    /// Resizes the reserve for the next batch. Returns the room for the batch, and whether to flush
    /// the store to free more.
    pub(super) fn room(&self, usage: impl FnOnce() -> Usage) -> (Room, bool) {
        const AMPLE: (Room, bool) = (Room::AMPLE, false);
        self.with(|state| {
            let Some(mut reserve) = state.reserve.take() else {
                return AMPLE;
            };
            match state.look(&mut reserve, usage) {
                Ok(found) => {
                    state.reserve = Some(reserve);
                    found.unwrap_or(AMPLE)
                }
                Err(error) => {
                    unwatched(&error);
                    AMPLE
                }
            }
        })
    }

    /// Records that a batch took at most `bytes` bytes of the journal.
    pub(super) fn wrote(&self, bytes: u64) {
        self.with(|state| state.journal.wrote(bytes));
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn look(
        &mut self,
        reserve: &mut Reserve,
        usage: impl FnOnce() -> Usage,
    ) -> io::Result<Option<(Room, bool)>> {
        let now = Instant::now();
        let Some(free) = reserve.free()? else {
            return Ok(None);
        };
        if free >= PLENTY && self.looked.is_some_and(|at| now < at + LOOK) {
            return Ok(None);
        }
        self.looked = Some(now);
        let usage = usage();
        let plan = Plan::of(free, reserve.size(), self.most, usage);
        let rests = self.rests_until.is_some_and(|until| now < until);
        if plan.reserve < reserve.size() {
            let given = reserve.size() - plan.reserve;
            tracing::debug!(target: TARGET, given, left = plan.reserve, "the reserve shrinks");
            reserve.resize(plan.reserve)?;
            self.rests_until = Some(now + REST);
        } else if plan.reserve > reserve.size() && !rests {
            // The reserve stays smaller if the disk has filled up meanwhile or the file system
            // cannot allocate in advance.
            if let Err(error) = reserve.resize(plan.reserve) {
                tracing::debug!(target: TARGET, %error, "the reserve cannot grow");
                self.rests_until = Some(now + REST);
            }
        }
        let mut room = plan.room;
        if free < TIGHT {
            room = self.allocate(reserve, room, usage)?;
        }
        // Flushing gains little if other files fill the disk.
        let is_own = usage.tables >= (free + reserve.size()) / 4;
        let flush = is_own && self.flushing.is_due(room, usage.tasks, now);
        Ok(Some((room, flush)))
    }

    /// Allocates the journal blocks of the next batch, and shrinks the reserve if the disk has no
    /// other room. Returns the room for that batch.
    fn allocate(&mut self, reserve: &mut Reserve, room: Room, usage: Usage) -> io::Result<Room> {
        let mut new_tasks = (room.new_tasks() / COPIES / 2).min(ALLOCATED_FOR_NEW_TASKS);
        loop {
            match self.journal.ensure(usage.changes() + new_tasks) {
                Ok(()) => return Ok(room.with_at_most(new_tasks * COPIES)),
                Err(error) if error.kind() != io::ErrorKind::StorageFull => return Ok(room),
                Err(_) if new_tasks > 0 => new_tasks = 0,
                Err(_) if reserve.size() > 0 => {
                    reserve.resize(reserve.size().saturating_sub(STEP))?;
                    self.rests_until = Some(Instant::now() + REST);
                }
                Err(_) => return Ok(Room::none()),
            }
        }
    }
}

/// Warns that there is no reserve. The store works without one until its disk is full.
fn unwatched(error: &io::Error) {
    tracing::warn!(
        target: TARGET,
        %error,
        "the room on the disk of data_dir cannot be watched: a full disk ends the server",
    );
}
