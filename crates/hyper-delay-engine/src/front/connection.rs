//! A connection of a client, with the parts that belong to it.

use race_wheel::Tick;

use super::{
    Origin, credit::CreditLoans, deliveries::Deliveries, options::RegistrationOptions,
    registrations::Registrations,
};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Connection<O> {
    pub(super) routes: Registrations,
    pub(super) options: RegistrationOptions,
    pub(super) loans: CreditLoans,
    pub(super) deliveries: Deliveries<O>,
    /// It takes no further deliveries.
    pub(super) is_closing: bool,
}

impl<O: Origin> Connection<O> {
    pub(super) fn new(credit: u16) -> Self {
        Self {
            routes: Registrations::default(),
            options: RegistrationOptions::new(credit),
            loans: CreditLoans::new(credit),
            deliveries: Deliveries::new(credit),
            is_closing: false,
        }
    }

    pub(super) fn update_credit(&mut self) {
        let credit = self.options.credit_limit();
        self.loans.set_credit(credit);
        self.deliveries.set_credit(credit);
    }

    /// Whether `more` deliveries would exceed the credit of the connection. Schedulers send no more than
    /// they were lent, so this happens only after the credit was lowered, until they have returned the
    /// excess.
    pub(super) fn has_too_many(&self, now: Tick, more: u16) -> bool {
        let credit = usize::from(self.loans.credit());
        // Those whose time has passed are among them.
        let may_have = self.deliveries.len() + usize::from(more) > credit;
        may_have && self.loans.are_exceeded() && {
            let used = self.used(now, |_| true).saturating_add(more);
            usize::from(used) > credit
        }
    }

    /// Returns the number of deliveries in flight that are of this kind and can be answered in time.
    pub(super) fn used(&self, now: Tick, is_it: impl Fn(&O) -> bool) -> u16 {
        let used = self
            .deliveries
            .count(|it| it.until > now && is_it(&it.origin));
        u16::try_from(used).unwrap_or(u16::MAX)
    }
}
