//! What the server counts, for `/metrics` and the page.
//!
//! What happens often is counted in atomics, without locks and allocations. What is there is read
//! when it is asked for: [`Gauges`] of the scheduler's memory and of the counts on disk.

mod count;
mod exposition;
mod gauges;
mod histogram;
pub mod http_code;
mod in_memory;
mod reading;
mod summary;
mod top;
mod write_watch;

use std::{
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    time::Duration,
};

pub use count::Count;
pub use exposition::{CONTENT_TYPE, text};
pub use gauges::{Connections, Gauges, ShardGauges};
pub use histogram::Histogram;
pub use in_memory::{InMemory, RouteInMemory, earlier};
pub use reading::{Limits, read};
pub use summary::summary;
pub use write_watch::WriteWatch;

use crate::forecast::Forecast;
use http_code::COUNTED as HTTP_CODES;
use hyper_delay_protocol::Code;
use hyper_delay_store::Room;

/// Tasks that are due within this time count as due soon.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The payload of a task for which a disk that is not full has room, in bytes.
const ORDINARY: usize = 64 << 10;

/// The value of `tls_expiry` without TLS.
const NO_TLS: i64 = i64::MIN;

/// The counters and histograms of a server, from its start on.
#[derive(Debug)]
pub struct Metrics {
    /// Schedules that made a task.
    pub(crate) scheduled: Count,
    /// Schedules that replaced a task.
    pub(crate) replaced: Count,
    /// Schedules of what was stored already.
    pub(crate) repeated: Count,
    /// Copies of tasks that were written to a connection.
    pub deliveries: Count,
    /// Failed rounds after which the task waits for another one.
    pub(crate) retries: Count,
    /// Acks that removed a task.
    pub(crate) acks: Count,
    /// Deliveries that were given back.
    pub(crate) nacks: Count,
    /// Acks and nacks without a matching delivery.
    pub unknown_answers: Count,
    /// Tasks that became dead letters.
    pub(crate) dead_letters: Count,
    /// Tasks that were removed because their time had passed.
    pub(crate) expired: Count,
    /// Dead letters that were removed because of their age.
    pub(crate) removed_by_age: Count,
    refusals: [Count; Code::ALL.len()],
    /// Refusals with a code that only requests over HTTP receive.
    http_refusals: [Count; HTTP_CODES.len()],
    /// Connections from hosts that are not allowed.
    pub refused_hosts: Count,
    /// Tokens that were wrong.
    pub wrong_tokens: Count,
    /// TLS handshakes that failed or took too long.
    pub failed_handshakes: Count,
    /// When the certificate of the server expires, in Unix seconds. [`NO_TLS`] without one.
    tls_expiry: AtomicI64,
    /// From the time a task is due to the start of a round, in microseconds.
    pub(crate) lateness: Histogram,
    /// From the start of a round to the ack, in microseconds.
    pub(crate) ack_time: Histogram,
    /// The time of a batch on its way to the disk, in microseconds.
    pub commit_time: Histogram,
    /// The jobs of a batch.
    pub batch_size: Histogram,
    /// The write that is under way.
    pub write: WriteWatch,
    /// The waiting tasks by time.
    pub forecast: Forecast,
    /// Whether the disk had no room for a new task at the last look.
    is_full: AtomicBool,
}

impl Metrics {
    /// Notes the room on the disk.
    pub fn look(&self, room: Room) {
        let is_full = room.new_tasks() < Room::cost(ORDINARY, 0);
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Returns whether the disk had no room for a new task at the last look.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Notes when the certificate of the server expires, in Unix seconds; `None` without TLS.
    pub fn set_tls_expiry(&self, expiry: Option<i64>) {
        self.tls_expiry
            .store(expiry.unwrap_or(NO_TLS), Ordering::Relaxed);
    }

    /// Returns when the certificate of the server expires.
    fn tls_expiry(&self) -> Option<i64> {
        Some(self.tls_expiry.load(Ordering::Relaxed)).filter(|expiry| *expiry != NO_TLS)
    }

    /// Counts a refusal.
    pub fn refuse(&self, code: Code) {
        if let Some(count) = self.refusals.get(code as usize) {
            count.add(1);
        }
    }

    /// Counts a refusal of a request over HTTP by the text of its code.
    pub fn refuse_request(&self, code: &str) {
        match Code::ALL.into_iter().find(|known| known.as_str() == code) {
            Some(code) => self.refuse(code),
            None => {
                if let Some(place) = HTTP_CODES.into_iter().position(|known| known == code) {
                    self.http_refusals[place].add(1);
                }
            }
        }
    }

    /// Returns the number of refusals of each kind.
    fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let codes = Code::ALL.into_iter().zip(&self.refusals);
        let codes = codes.map(|(code, count)| (code.as_str(), count.value()));
        let of_http = HTTP_CODES.into_iter().zip(&self.http_refusals);
        let of_http = of_http.map(|(code, count)| (code, count.value()));
        codes
            .chain(of_http)
            .chain([("host_not_allowed", self.refused_hosts.value())])
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            scheduled: Count::default(),
            replaced: Count::default(),
            repeated: Count::default(),
            deliveries: Count::default(),
            retries: Count::default(),
            expired: Count::default(),
            removed_by_age: Count::default(),
            acks: Count::default(),
            nacks: Count::default(),
            unknown_answers: Count::default(),
            dead_letters: Count::default(),
            refusals: Default::default(),
            http_refusals: Default::default(),
            refused_hosts: Count::default(),
            wrong_tokens: Count::default(),
            failed_handshakes: Count::default(),
            tls_expiry: AtomicI64::new(NO_TLS),
            lateness: Histogram::of_seconds(),
            ack_time: Histogram::of_seconds(),
            commit_time: Histogram::of_seconds(),
            batch_size: Histogram::of_jobs(),
            write: WriteWatch::default(),
            forecast: Forecast::default(),
            is_full: AtomicBool::new(false),
        }
    }
}
