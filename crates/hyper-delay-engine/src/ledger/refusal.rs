//! Schedules that are refused.

use super::{Existing, Ledger, Outcome, PendingLimits, ScheduleOrder, route_counts::QuotaUsage};
use hyper_delay_store::{Store, StoreError, record::key};

impl<S: Store> Ledger<S> {
    /// Returns the outcome of a schedule that the disk has no room for: [`Outcome::Same`] if the
    /// same content is stored, and a refusal otherwise. The batch does not change.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn refuse_for_full_disk(
        &self,
        order: &ScheduleOrder,
        now: u64,
    ) -> Result<Outcome, StoreError> {
        let key = key::name(&order.route, &order.id);
        Ok(match self.existing(order, &key, now)? {
            Some(existing) if existing.digest() == order.content().digest() => existing.same(order),
            Some(_) if !order.replace => Outcome::NameTaken,
            _ => Outcome::DiskFull,
        })
    }

    /// Returns the refusal of a schedule that would make its route, or the routes of its token,
    /// exceed these limits. The batch does not change.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn quota_refusal(
        &mut self,
        order: &ScheduleOrder,
        most: &PendingLimits,
        now: u64,
    ) -> Result<Option<Outcome>, StoreError> {
        if *most == PendingLimits::default() {
            return Ok(None);
        }
        let key = key::name(&order.route, &order.id);
        let existing = self.existing(order, &key, now)?;
        let is_new =
            |existing: &Existing| order.replace && existing.digest() != order.content().digest();
        if !existing.as_ref().is_none_or(is_new) {
            return Ok(None);
        }
        let added = PendingDelta {
            replaced: match existing {
                Some(Existing::Task(name)) => Some(name.pending_bytes()),
                Some(Existing::Done(_)) | None => None,
            },
            bytes: order.payload.len() as u64,
        };
        let pending = self.rows.pending(&order.route)?;
        match added.exceeds(pending, most.tasks, most.bytes) {
            Some(ExceededLimit::Tasks(_)) => return Ok(Some(Outcome::OverQuota)),
            Some(ExceededLimit::Bytes(_)) => return Ok(Some(Outcome::OverBytes)),
            None => {}
        }
        let Some(grant) = &most.token else {
            return Ok(None);
        };
        let pending = self.rows.pending_of(grant)?;
        let excess = added.exceeds(pending, grant.pending, grant.pending_bytes);
        Ok(excess.map(|excess| match excess {
            ExceededLimit::Tasks(most) => Outcome::OverTokenQuota(most),
            ExceededLimit::Bytes(most) => Outcome::OverTokenBytes(most),
        }))
    }
}

/// The pending tasks that a schedule adds.
struct PendingDelta {
    /// The bytes of the revision that it replaces, if it does.
    replaced: Option<u64>,
    bytes: u64,
}

/// A limit that would be exceeded.
enum ExceededLimit {
    Tasks(u64),
    Bytes(u64),
}

impl PendingDelta {
    fn exceeds(
        &self,
        pending: QuotaUsage,
        tasks: Option<u64>,
        bytes: Option<u64>,
    ) -> Option<ExceededLimit> {
        if let Some(most) = tasks
            && self.replaced.is_none()
            && pending.tasks >= most
        {
            return Some(ExceededLimit::Tasks(most));
        }
        let before = self.replaced.unwrap_or(0);
        let after = pending.bytes.saturating_sub(before) + self.bytes;
        let most = bytes.filter(|most| self.bytes > before && after > *most)?;
        Some(ExceededLimit::Bytes(most))
    }
}
