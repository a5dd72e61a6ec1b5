//! The disk of a store: the free space on it, and the reserve for a full disk.

mod allocate;
mod flush_policy;
mod journal_allocation;
mod node_reserve;
mod reserve;
mod reserve_plan;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

pub(super) use node_reserve::NodeReserve;
pub(super) use reserve_plan::StoreUsage;

use flush_policy::FlushPolicy;
use journal_allocation::JournalAllocation;
use reserve::Reserve;
use reserve_plan::{ReservePlan, STEP};

use hyper_delay_store::{DiskSpace, WRITE_AMPLIFICATION};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::store::disk";

/// How long the reserve does not grow after it gave space, or could not grow.
const REGROWTH_DELAY: Duration = Duration::from_secs(1);

/// With at least this many free bytes, the disk is checked only once per [`CHECK_INTERVAL`]. The
/// batches of that time take less.
const AMPLE_FREE: u64 = 4 << 30;
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// With fewer free bytes than this, the blocks of the journal are allocated in advance.
const LOW_FREE: u64 = 256 << 20;

/// Maximum number of bytes that are allocated in the journal for the new tasks of a batch.
const ALLOCATED_FOR_NEW_TASKS: u64 = 16 << 20;

/// Bytes that opening a store may write, because it flushes the contents of the journals.
const OPENING_BYTES: u64 = 256 << 20;

/// Checks the free space on the disk of a store before each batch, and resizes the reserve.
#[derive(Debug)]
pub(super) struct DiskMonitor {
    state: Mutex<DiskMonitorState>,
}

#[derive(Debug)]
struct DiskMonitorState {
    /// `None` if the free space cannot be read. It counts as unlimited then.
    reserve: Option<Reserve>,
    /// Maximum size of the reserve in bytes.
    most: u64,
    last_check: Option<Instant>,
    no_growth_until: Option<Instant>,
    flush_policy: FlushPolicy,
    journal: JournalAllocation,
}

/// The result of a check of the disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct DiskCheck {
    /// The space for the next batch.
    pub(super) space: DiskSpace,
    /// Whether to flush the store, which frees more space.
    pub(super) needs_flush: bool,
}

impl DiskCheck {
    const UNLIMITED: Self = Self {
        space: DiskSpace::UNLIMITED,
        needs_flush: false,
    };
}

impl DiskMonitor {
    /// Opens the reserve of a data directory whose store is in the folder `store`. On an almost
    /// full disk it frees the reserve for the opening of the store.
    pub(super) fn open(directory: &Path, store: PathBuf) -> Self {
        let opened = Reserve::open(directory).and_then(|mut reserve| {
            if reserve.free()?.is_some_and(|free| free < OPENING_BYTES) {
                reserve.resize(0)?;
            }
            Ok(reserve)
        });
        let reserve = opened.inspect_err(warn_unmonitored).ok();
        Self {
            state: Mutex::new(DiskMonitorState {
                reserve,
                most: u64::MAX,
                last_check: None,
                no_growth_until: None,
                flush_policy: FlushPolicy::default(),
                journal: JournalAllocation::new(store),
            }),
        }
    }

    /// Limits the size of the reserve, in bytes.
    pub(super) fn limit_reserve(&self, most: u64) {
        self.with(|state| state.most = most);
    }

    /// Resizes the reserve for the next batch, and returns the space for that batch.
    pub(super) fn check(&self, usage: impl FnOnce() -> StoreUsage) -> DiskCheck {
        self.with(|state| {
            let Some(mut reserve) = state.reserve.take() else {
                return DiskCheck::UNLIMITED;
            };
            match state.check(&mut reserve, usage) {
                Ok(check) => {
                    state.reserve = Some(reserve);
                    check
                }
                Err(error) => {
                    warn_unmonitored(&error);
                    DiskCheck::UNLIMITED
                }
            }
        })
    }

    /// Records that a batch took at most `bytes` bytes of the journal.
    pub(super) fn record_journal_write(&self, bytes: u64) {
        self.with(|state| state.journal.record_write(bytes));
    }

    fn with<T>(&self, act: impl FnOnce(&mut DiskMonitorState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DiskMonitorState {
    fn check(
        &mut self,
        reserve: &mut Reserve,
        usage: impl FnOnce() -> StoreUsage,
    ) -> io::Result<DiskCheck> {
        let now = Instant::now();
        let Some(free) = reserve.free()? else {
            return Ok(DiskCheck::UNLIMITED);
        };
        if free >= AMPLE_FREE && self.last_check.is_some_and(|at| now < at + CHECK_INTERVAL) {
            return Ok(DiskCheck::UNLIMITED);
        }
        self.last_check = Some(now);
        let usage = usage();
        let plan = ReservePlan::of(free, reserve.size(), self.most, usage);
        let is_growth_delayed = self.no_growth_until.is_some_and(|until| now < until);
        if plan.reserve < reserve.size() {
            let given = reserve.size() - plan.reserve;
            tracing::debug!(target: TARGET, given, left = plan.reserve, "the reserve shrinks");
            reserve.resize(plan.reserve)?;
            self.no_growth_until = Some(now + REGROWTH_DELAY);
        } else if plan.reserve > reserve.size() && !is_growth_delayed {
            // The reserve stays smaller if the disk has filled up meanwhile or the file system
            // cannot allocate in advance.
            if let Err(error) = reserve.resize(plan.reserve) {
                tracing::debug!(target: TARGET, %error, "the reserve cannot grow");
                self.no_growth_until = Some(now + REGROWTH_DELAY);
            }
        }
        let mut space = plan.disk_space;
        if free < LOW_FREE {
            space = self.allocate(reserve, space, usage)?;
        }
        // Flushing gains little if other files fill the disk.
        let is_own = usage.tables >= (free + reserve.size()) / 4;
        Ok(DiskCheck {
            space,
            needs_flush: is_own && self.flush_policy.is_due(space, usage.tasks, now),
        })
    }

    /// Allocates the journal blocks of the next batch, and shrinks the reserve if the disk has no
    /// other free space. Returns the space for that batch.
    fn allocate(
        &mut self,
        reserve: &mut Reserve,
        space: DiskSpace,
        usage: StoreUsage,
    ) -> io::Result<DiskSpace> {
        let mut new_tasks =
            (space.new_tasks() / WRITE_AMPLIFICATION / 2).min(ALLOCATED_FOR_NEW_TASKS);
        loop {
            match self.journal.ensure(usage.change_bytes() + new_tasks) {
                Ok(()) => return Ok(space.limited_to(new_tasks * WRITE_AMPLIFICATION)),
                Err(error) if error.kind() != io::ErrorKind::StorageFull => return Ok(space),
                Err(_) if new_tasks > 0 => new_tasks = 0,
                Err(_) if reserve.size() > 0 => {
                    reserve.resize(reserve.size().saturating_sub(STEP))?;
                    self.no_growth_until = Some(Instant::now() + REGROWTH_DELAY);
                }
                Err(_) => return Ok(DiskSpace::none()),
            }
        }
    }
}

/// Warns that there is no reserve. The store works without one until its disk is full.
fn warn_unmonitored(error: &io::Error) {
    tracing::warn!(
        target: TARGET,
        %error,
        "the room on the disk of data_dir cannot be watched: a full disk ends the server",
    );
}
