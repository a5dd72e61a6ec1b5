use super::route_counts::QuotaUsage;
use crate::sizes::{Size, Sizes};
use hyper_delay_protocol::access::{Grant, Routes};
use hyper_delay_store::{
    StoreError,
    record::{Name, Place},
};

/// The pending tasks on the routes of tokens that have a quota for them.
///
/// The first request for a sum adds up the counts of the routes; then the sum follows every change.
/// The most recently used sums are kept.
#[derive(Debug)]
pub(super) struct TokenPending {
    sizes: Sizes,
    /// Most recently used last.
    sums: Vec<TokenSum>,
}

#[derive(Debug)]
struct TokenSum {
    token: Box<str>,
    routes: Routes,
    pending: QuotaUsage,
}

impl TokenPending {
    pub(super) const fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            sums: Vec::new(),
        }
    }

    pub(super) const fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Adds a task to the sums.
    pub(super) fn add(&mut self, route: &str, name: &Name) {
        for pending in self.sums_with_route(route, name) {
            pending.tasks = pending.tasks.saturating_add(1);
            pending.bytes = pending.bytes.saturating_add(name.pending_bytes());
        }
    }

    /// Removes a task from the sums.
    pub(super) fn remove(&mut self, route: &str, name: &Name) {
        for pending in self.sums_with_route(route, name) {
            pending.tasks = pending.tasks.saturating_sub(1);
            pending.bytes = pending.bytes.saturating_sub(name.pending_bytes());
        }
    }

    /// The sums that a task is in.
    fn sums_with_route(
        &mut self,
        route: &str,
        name: &Name,
    ) -> impl Iterator<Item = &mut QuotaUsage> {
        let is_pending = !matches!(name.place, Place::Dead(_));
        let sums = self.sums.iter_mut().filter(move |_| is_pending);
        sums.filter(|sum| sum.routes.contain(route))
            .map(|sum| &mut sum.pending)
    }

    /// Returns the sum of a token. `count` makes it.
    pub(super) fn sum_of(
        &mut self,
        grant: &Grant,
        count: impl FnOnce() -> Result<QuotaUsage, StoreError>,
    ) -> Result<QuotaUsage, StoreError> {
        let position = self.sums.iter().position(|sum| *sum.token == *grant.id);
        let known = position.map(|position| self.sums.remove(position));
        let sum = match known.filter(|sum| sum.routes == grant.routes) {
            Some(sum) => sum,
            None => TokenSum {
                token: grant.id.as_str().into(),
                routes: grant.routes.clone(),
                pending: count()?,
            },
        };
        if self.sums.len() >= self.sizes.token_sums {
            (self.sizes.reached)(Size::TokenSums);
            self.sums.remove(0);
        }
        let pending = sum.pending;
        self.sums.push(sum);
        Ok(pending)
    }
}
