//! The counters, histograms and gauges of the server, for `/metrics` and the page.
//!
//! Frequent events are counted in atomics, without locks and allocations. The present state is read
//! when it is asked for: [`Gauges`] of the scheduler's memory and of the counts on disk.

mod counter;
mod exposition;
mod gauge_reader;
mod gauges;
mod histogram;
pub mod http_code;
mod largest_routes;
mod memory_gauges;
mod summary;
mod write_monitor;

use std::{
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    time::Duration,
};

pub use counter::Counter;
pub use exposition::{CONTENT_TYPE, text};
pub use gauge_reader::{GaugeLimits, read_gauges};
pub use gauges::{Gauges, HttpConnections, ShardGauges};
pub use histogram::Histogram;
pub use memory_gauges::{MemoryGauges, RouteMemoryGauges, earlier};
pub use summary::summary;
pub use write_monitor::WriteMonitor;

use crate::forecast::Forecast;
use http_code::COUNTED as HTTP_CODES;
use hyper_delay_protocol::Code;
use hyper_delay_store::DiskSpace;

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
    pub(crate) scheduled: Counter,
    /// Schedules that replaced a task.
    pub(crate) replaced: Counter,
    /// Schedules of what was stored already.
    pub(crate) repeated: Counter,
    /// Copies of tasks that were written to a connection.
    pub deliveries: Counter,
    /// Failed rounds after which the task waits for another one.
    pub(crate) retries: Counter,
    /// Acks that removed a task.
    pub(crate) acks: Counter,
    /// Deliveries that consumers returned with a nack.
    pub(crate) nacks: Counter,
    /// Acks and nacks without a matching delivery.
    pub unknown_answers: Counter,
    /// Tasks that became dead letters.
    pub(crate) dead_letters: Counter,
    /// Tasks that were removed because their time had passed.
    pub(crate) expired: Counter,
    /// Dead letters that were removed because of their age.
    pub(crate) removed_by_age: Counter,
    refusals: [Counter; Code::ALL.len()],
    /// Refusals with a code that only requests over HTTP receive.
    http_refusals: [Counter; HTTP_CODES.len()],
    /// Connections from hosts that are not allowed.
    pub refused_hosts: Counter,
    /// Tokens that were wrong.
    pub wrong_tokens: Counter,
    /// TLS handshakes that failed or took too long.
    pub failed_handshakes: Counter,
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
    /// The write in progress.
    pub write: WriteMonitor,
    /// The waiting tasks by time.
    pub forecast: Forecast,
    /// Whether the disk had no room for a new task when the disk was last checked.
    is_full: AtomicBool,
}

impl Metrics {
    /// Notes the space on the disk.
    pub fn note_disk_space(&self, disk_space: DiskSpace) {
        let is_full = disk_space.new_tasks() < DiskSpace::cost(ORDINARY, 0);
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Returns whether the disk had no room for a new task when the disk was last checked.
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
            scheduled: Counter::default(),
            replaced: Counter::default(),
            repeated: Counter::default(),
            deliveries: Counter::default(),
            retries: Counter::default(),
            expired: Counter::default(),
            removed_by_age: Counter::default(),
            acks: Counter::default(),
            nacks: Counter::default(),
            unknown_answers: Counter::default(),
            dead_letters: Counter::default(),
            refusals: Default::default(),
            http_refusals: Default::default(),
            refused_hosts: Counter::default(),
            wrong_tokens: Counter::default(),
            failed_handshakes: Counter::default(),
            tls_expiry: AtomicI64::new(NO_TLS),
            lateness: Histogram::of_seconds(),
            ack_time: Histogram::of_seconds(),
            commit_time: Histogram::of_seconds(),
            batch_size: Histogram::of_jobs(),
            write: WriteMonitor::default(),
            forecast: Forecast::default(),
            is_full: AtomicBool::new(false),
        }
    }
}
