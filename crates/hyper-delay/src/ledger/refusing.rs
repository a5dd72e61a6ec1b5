//! Schedules that are refused.

use super::{Existing, Ledger, Order, Outcome, PendingLimits, content};
use crate::{
    record::key,
    store::{Store, StoreError},
};

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
            Some(existing) if existing.digest() == content(order).digest() => Outcome::Same,
            Some(_) if !order.replace => Outcome::Taken,
            _ => Outcome::DiskFull,
        })
    }

    /// Returns the refusal of a schedule that would make its route exceed these limits. The batch
    /// does not change.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub(crate) fn over_quota(
        &self,
        order: &Order,
        most: PendingLimits,
        now: u64,
    ) -> Result<Option<Outcome>, StoreError> {
        if most == PendingLimits::default() {
            return Ok(None);
        }
        let key = key::name(&order.route, &order.id);
        let existing = self.existing(order, &key, now)?;
        let is_new =
            |existing: &Existing| order.replace && existing.digest() != content(order).digest();
        if !existing.as_ref().is_none_or(is_new) {
            return Ok(None);
        }
        let pending = self.tally.pending(&self.writes, &order.route)?;
        let replaced = match existing {
            Some(Existing::Task(name)) => Some(name.pending_bytes()),
            Some(Existing::Done(_)) | None => None,
        };
        if replaced.is_none() && most.tasks.is_some_and(|most| pending.tasks >= most) {
            return Ok(Some(Outcome::OverQuota));
        }
        let (before, after) = (replaced.unwrap_or(0), order.payload.len() as u64);
        let bytes = pending.bytes.saturating_sub(before).saturating_add(after);
        let is_over = after > before && most.bytes.is_some_and(|most| bytes > most);
        Ok(is_over.then_some(Outcome::OverBytes))
    }
}
