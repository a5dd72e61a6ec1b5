use super::case::BudgetOptions;

/// What a budget holds, in hundredths of an attempt.
pub(super) struct Purse {
    options: BudgetOptions,
    holds: u16,
}

impl Purse {
    pub(super) fn new(options: BudgetOptions) -> Self {
        let holds = 100 * options.reserve;
        Self { options, holds }
    }

    pub(super) fn charges_failover(&self) -> bool {
        self.options.charges_failover
    }

    pub(super) fn deposit(&mut self) {
        let most = 100 * (self.options.reserve + self.options.savings);
        self.holds = most.min(self.holds + self.options.percent);
    }

    pub(super) fn pays(&mut self) -> bool {
        let can_pay = self.holds >= 100;
        self.holds -= if can_pay { 100 } else { 0 };
        can_pay
    }
}
