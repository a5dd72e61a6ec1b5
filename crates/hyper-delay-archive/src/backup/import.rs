use std::{mem, path::Path, sync::Arc};

use super::{BackupError, new_store::NewStore};
use hyper_delay_engine::{
    clock::Clock,
    ledger::{Ledger, NewDueTime, Op, Outcome, ScheduleOrder, TaskMove},
    sizes::Sizes,
};
use hyper_delay_fjall::Embedded;
use hyper_delay_protocol::{Due, Schedule, in_both_forms};
use hyper_delay_store::{Durability, Store as _, StoreError};

/// Tasks of a batch.
const BATCH: usize = 1_000;

/// Bytes of a batch.
const BYTES: usize = 1 << 20;

/// The limits of the server that will use a new store: tasks beyond them are refused.
#[derive(Debug, Clone, Copy)]
pub struct ImportLimits {
    /// The longest line of a delivery.
    pub line_bytes: usize,
    /// Maximum number of days from now to the due time of a task.
    pub delay_days: u64,
}

/// What a task was scheduled with before it was exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OriginalTimes {
    /// The delay that gave its time. It stays its content in place of the time.
    pub delay_ms: Option<u64>,
    /// Its time in Unix milliseconds, if it is due at another one.
    pub fire_at: Option<u64>,
}

/// Writes tasks into a new store.
#[derive(Debug)]
pub struct Importer {
    /// Closed before the store is moved to its place.
    store: OpenStore,
    new: NewStore,
    clock: Clock,
    limits: ImportLimits,
}

#[derive(Debug)]
struct OpenStore {
    store: Arc<Embedded>,
    ledger: Ledger<Embedded>,
    batches: u64,
    tasks: usize,
    bytes: usize,
}

impl Importer {
    /// Begins a store in `directory`, which must be empty, not exist, or contain only an interrupted
    /// import.
    ///
    /// # Errors
    ///
    /// If the directory has anything else, or the disk fails.
    pub fn begin(directory: &Path, limits: ImportLimits) -> Result<Self, BackupError> {
        let new = NewStore::begin(directory)?;
        let store = Arc::new(new.open()?);
        let ledger = Ledger::open(store.clone(), 0, Sizes::SERVER)?;
        Ok(Self {
            store: OpenStore {
                store,
                ledger,
                batches: 0,
                tasks: 0,
                bytes: 0,
            },
            new,
            clock: Clock::new(),
            limits,
        })
    }

    /// Writes a task. The error of the inner result is the reason why the task is refused. A delay
    /// counts from now. The original times of an exported task stay: its name and its content are those
    /// of before, and it is due at the time of `schedule`. A task that exists already does not change.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub fn add(
        &mut self,
        (route, id): (Arc<str>, Arc<str>),
        mut schedule: Schedule,
        original: OriginalTimes,
    ) -> Result<Result<(), String>, BackupError> {
        let now = self.clock.now().wall_millis();
        let longest = self.limits.delay_days.saturating_mul(86_400_000);
        if let Err(why) = schedule.due.check(now, longest) {
            return Ok(Err(format!(
                "{why}, or --max-delay-days if the configuration of the server has more than {}",
                self.limits.delay_days
            )));
        }
        let expires_at = schedule.terms.as_ref().and_then(|terms| terms.expires_at);
        if let Some(at) = expires_at.filter(|at| *at <= now) {
            return Ok(Err(format!(
                "expires_at is {}, which has passed: give a time after {}",
                in_both_forms(at),
                in_both_forms(now)
            )));
        }
        let due_field = match schedule.due {
            Due::At(_) => "fire_at",
            Due::After(_) => "the end of delay_ms",
        };
        let is_id_given = schedule.id.is_some();
        let move_to = original.fire_at.map(|fire_at| {
            let due = mem::replace(&mut schedule.due, Due::At(fire_at));
            TaskMove {
                route: route.clone(),
                id: id.clone(),
                due: NewDueTime::At(due.at(now)),
                in_flight: None,
            }
        });
        let times = [
            move_to.as_ref().map(|moved| (due_field, moved.due.at())),
            original.fire_at.map(|at| ("original_fire_at", at)),
        ];
        let too_late = |at| times.into_iter().flatten().find(|(_, time)| at <= *time);
        if let Some(at) = expires_at
            && let Some((field, time)) = too_late(at)
        {
            return Ok(Err(bad_expiry(at, field, time)));
        }
        let mut order = ScheduleOrder::of(schedule, (route, id), is_id_given, now);
        order.delay_ms = order.delay_ms.or(original.delay_ms);
        let delivery = order.longest_delivery();
        let most = self.limits.line_bytes;
        if !delivery.fits(most) {
            let longest = delivery.longest();
            return Ok(Err(format!(
                "its delivery would be a line of {longest} bytes, and max_line_bytes is {most}: \
                 raise it in the configuration of the server, and give --max-line-bytes"
            )));
        }
        let (bytes, fire_at) = (order.content_bytes(), order.fire_at);
        match self.store.ledger.apply(&Op::Schedule(order), now)? {
            Outcome::NameTaken => {
                return Ok(Err(
                    "an earlier line has the same route and id, and other content".to_owned(),
                ));
            }
            Outcome::ExpiresBeforeDue => {
                return Ok(Err(bad_expiry(
                    expires_at.unwrap_or(now),
                    due_field,
                    fire_at,
                )));
            }
            // An earlier line has it, and has set when it is due.
            Outcome::Same { .. } => return Ok(Ok(())),
            _ => {}
        }
        if let Some(move_to) = move_to {
            self.store.ledger.apply(&Op::Move(move_to), now)?;
        }
        self.store.tasks += 1;
        self.store.bytes += bytes;
        if self.store.tasks >= BATCH || self.store.bytes >= BYTES {
            self.store.commit()?;
        }
        Ok(Ok(()))
    }

    /// Syncs the store and moves it to its place.
    ///
    /// # Errors
    ///
    /// If the store fails, or cannot be moved.
    pub fn finish(self) -> Result<(), BackupError> {
        let Self { mut store, new, .. } = self;
        store.commit()?;
        store.store.sync()?;
        drop(store);
        new.finish()
    }
}

/// Returns the message about a task that expires at or before the time that a field gives.
fn bad_expiry(expires_at: u64, field: &str, time: u64) -> String {
    format!(
        "expires_at is {}: give a time after {field}, which is {}",
        in_both_forms(expires_at),
        in_both_forms(time)
    )
}

impl OpenStore {
    fn commit(&mut self) -> Result<(), StoreError> {
        (self.tasks, self.bytes) = (0, 0);
        let batch = self.ledger.take_batch()?;
        self.store.commit(batch, Durability::Written)?;
        self.batches += 1;
        self.ledger.committed(self.batches);
        Ok(())
    }
}
