//! Admits schedules while the disk has room for them.

use super::log_rate_limit::LogRateLimit;
use crate::ledger::ScheduleOrder;
use hyper_delay_store::DiskSpace;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::committer::admission";

/// Admits new tasks while the disk has room for them, and logs when it is full and when it has room
/// again.
#[derive(Debug, Default)]
pub(super) struct DiskAdmission {
    /// Bytes left for new tasks of this group.
    left: u64,
    /// Schedules refused since the log last reported room.
    refused: u64,
    is_full: bool,
    /// Whether the last line of the log reports a full disk.
    is_logged_full: bool,
    pause: LogRateLimit,
}

impl DiskAdmission {
    /// Starts a group.
    pub(super) fn begin_group(&mut self, room: DiskSpace) {
        self.left = room.new_tasks();
    }

    /// Returns whether the disk has room for a new task, and takes that room. After the first
    /// refusal the group admits none, so that small tasks do not starve a large one.
    pub(super) fn admits(&mut self, order: &ScheduleOrder) -> bool {
        let names = order.route.len() + order.id.len();
        let left = self
            .left
            .checked_sub(DiskSpace::cost(order.content_bytes(), names));
        self.left = left.unwrap_or(0);
        self.is_full = left.is_none();
        self.refused += u64::from(self.is_full);
        !self.is_full
    }

    /// Ends a group.
    pub(super) fn end_group(&mut self) {
        if self.is_full == self.is_logged_full || !self.pause.may_log() {
            return;
        }
        self.is_logged_full = self.is_full;
        self.pause.note_line();
        if self.is_full {
            tracing::warn!(
                target: TARGET,
                "the disk of data_dir is full, or its file system reports no free bytes: look at \
                 df, and free some; schedules are refused with disk_full, deliveries and acks go on",
            );
        } else {
            let refused = std::mem::take(&mut self.refused);
            tracing::info!(
                target: TARGET,
                refused,
                "the disk of data_dir has room again: schedules are taken",
            );
        }
    }
}
