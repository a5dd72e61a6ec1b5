//! Schedules that are refused.

use super::{Existing, Ledger, Order, Outcome, PendingLimits, tally::Pending};
use hyper_delay_store::{Store, StoreError, record::key};

impl<S: Store> Ledger<S> {
    /// Returns the outcome of a schedule that the disk has no room for: [`Outcome::Same`] if the
    /// same content is stored, and a refusal otherwise. The batch does not change.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn refuse(&self, order: &Order, now: u64) -> Result<Outcome, StoreError> {
        let key = key::name(&order.route, &order.id);
        Ok(match self.existing(order, &key, now)? {
            Some(existing) if existing.digest() == order.content().digest() => Outcome::Same,
            Some(_) if !order.replace => Outcome::Taken,
            _ => Outcome::DiskFull,
        })
    }

    /// Returns the refusal of a schedule that would make its route, or the routes of its token,
    /// exceed these limits. The batch does not change.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn over_quota(
        &mut self,
        order: &Order,
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
        let added = Added {
            replaced: match existing {
                Some(Existing::Task(name)) => Some(name.pending_bytes()),
                Some(Existing::Done(_)) | None => None,
            },
            bytes: order.payload.len() as u64,
        };
        let pending = self.rows.pending(&order.route)?;
        match added.exceeds(pending, most.tasks, most.bytes) {
            Some(Excess::Tasks(_)) => return Ok(Some(Outcome::OverQuota)),
            Some(Excess::Bytes(_)) => return Ok(Some(Outcome::OverBytes)),
            None => {}
        }
        let Some(grant) = &most.token else {
            return Ok(None);
        };
        let pending = self.rows.pending_of(grant)?;
        let excess = added.exceeds(pending, grant.pending, grant.pending_bytes);
        Ok(excess.map(|excess| match excess {
            Excess::Tasks(most) => Outcome::OverTokenQuota(most),
            Excess::Bytes(most) => Outcome::OverTokenBytes(most),
        }))
    }
}

/// What a schedule adds to the pending tasks.
struct Added {
    /// The bytes of the revision that it replaces, if it does.
    replaced: Option<u64>,
    bytes: u64,
}

/// A limit that would be exceeded.
enum Excess {
    Tasks(u64),
    Bytes(u64),
}

impl Added {
    fn exceeds(&self, pending: Pending, tasks: Option<u64>, bytes: Option<u64>) -> Option<Excess> {
        if let Some(most) = tasks
            && self.replaced.is_none()
            && pending.tasks >= most
        {
            return Some(Excess::Tasks(most));
        }
        let before = self.replaced.unwrap_or(0);
        let after = pending.bytes.saturating_sub(before) + self.bytes;
        let most = bytes.filter(|most| self.bytes > before && after > *most)?;
        Some(Excess::Bytes(most))
    }
}
