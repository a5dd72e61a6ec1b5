/// The credit of a connection that it is lent piece by piece, as it has credit for all shards
/// together.
#[derive(Debug, Default)]
pub(super) struct LentCredit {
    /// Lent, and not returned.
    lent: u32,
    /// The recalled part of it, which is returned as soon as no copy uses it.
    recalled: u32,
    /// More was asked for since credit was last lent.
    has_wanted: bool,
    /// The connection is about to close and takes no further copies.
    is_closing: bool,
}

impl LentCredit {
    pub(super) fn lend(&mut self, credit: u16) {
        self.lent = self.lent.saturating_add(credit.into());
        self.has_wanted = false;
    }

    pub(super) fn recall(&mut self, credit: u16) {
        self.recalled = self.recalled.saturating_add(credit.into());
    }

    /// Returns the recalled credit that no copy uses, and removes it from the loan.
    pub(super) fn return_unused(&mut self, in_flight: usize) -> u16 {
        let in_flight = u32::try_from(in_flight).unwrap_or(u32::MAX);
        let unused = self.lent.saturating_sub(in_flight).min(self.recalled);
        let returned = u16::try_from(unused).unwrap_or(u16::MAX);
        self.lent -= u32::from(returned);
        self.recalled -= u32::from(returned);
        returned
    }

    /// Whether credit is recalled that is not returned yet.
    pub(super) const fn owes(&self) -> bool {
        self.recalled > 0
    }

    /// The number of copies that the connection may have in flight before it is given another one.
    pub(super) fn credit(&self) -> u16 {
        let credit = match self.is_closing {
            true => 0,
            false => self.lent.saturating_sub(self.recalled),
        };
        u16::try_from(credit).unwrap_or(u16::MAX)
    }

    /// More credit could be used. Returns whether to request it: once after each loan.
    pub(super) const fn request_more(&mut self) -> bool {
        let could_want = self.may_request();
        self.has_wanted = true;
        could_want
    }

    /// No more could be used. Returns whether more was asked for.
    pub(super) fn withdraw_request(&mut self) -> bool {
        !self.is_closing && std::mem::take(&mut self.has_wanted)
    }

    pub(super) const fn may_request(&self) -> bool {
        !self.has_wanted && !self.is_closing
    }

    pub(super) const fn close(&mut self) {
        self.is_closing = true;
    }

    #[cfg(test)]
    pub(super) const fn is_closing(&self) -> bool {
        self.is_closing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_credit_is_given_back_at_once_and_the_rest_as_copies_end() {
        let mut lending = LentCredit::default();
        lending.lend(5);
        lending.recall(3);
        assert_eq!((lending.credit(), lending.return_unused(4)), (2, 1));
        assert_eq!((lending.credit(), lending.return_unused(4)), (2, 0));
        assert_eq!((lending.credit(), lending.return_unused(2)), (2, 2));
        assert_eq!((lending.credit(), lending.return_unused(0)), (2, 0));
    }

    #[test]
    fn what_is_recalled_beyond_what_is_lent_is_taken_from_the_next_loan() {
        let mut lending = LentCredit::default();
        lending.lend(1);
        lending.recall(3);
        assert_eq!((lending.return_unused(0), lending.credit()), (1, 0));
        lending.lend(5);
        assert_eq!((lending.return_unused(0), lending.credit()), (2, 3));
    }

    #[test]
    fn more_is_asked_for_once_after_each_loan() {
        let mut lending = LentCredit::default();
        assert!(lending.request_more() && !lending.request_more());
        lending.lend(1);
        assert!(lending.request_more() && !lending.request_more());
        lending.close();
        lending.lend(1);
        assert!(!lending.request_more());
        assert_eq!(lending.credit(), 0);
    }

    #[test]
    fn more_credit_than_a_connection_can_have_is_counted_and_given_back() {
        let mut lending = LentCredit::default();
        lending.lend(u16::MAX);
        lending.lend(2);
        assert_eq!(lending.credit(), u16::MAX);
        lending.recall(u16::MAX);
        lending.recall(2);
        assert_eq!(lending.return_unused(0), u16::MAX);
        assert_eq!(lending.return_unused(0), 2);
        assert_eq!(lending.return_unused(0), 0);
    }
}
