use crate::sync::{AtomicUsize, Ordering};

/// One attempt, in the unit of the balance.
pub(super) const ATTEMPT: usize = 1_000;

/// What a race deposits at least while there is a start reserve and the balance is below one
/// attempt. So four races pay for one attempt.
const TOP_UP: usize = ATTEMPT / 4;

/// The most attempts of a start reserve.
const MOST_START: u8 = (START >> 2) as u8;

const START_BITS: u32 = 6;

/// The bits of the word that count top-ups.
const START: usize = (1 << START_BITS) - 1;

/// The highest balance. With 32 bits: 67,108 attempts.
const MOST: usize = usize::MAX >> START_BITS;

/// The balance of a [`Budget`](super::Budget) in thousandths of an attempt, and the number of
/// deposits that its start reserve still tops up.
///
/// Both are in one word, the balance above the number, so that threads change them together
/// without a lock.
pub(super) struct Account(AtomicUsize);

#[derive(Clone, Copy)]
struct State {
    balance: usize,
    top_ups: usize,
}

impl State {
    const fn unpack(word: usize) -> Self {
        Self {
            balance: word >> START_BITS,
            top_ups: word & START,
        }
    }

    const fn pack(self) -> usize {
        self.balance << START_BITS | self.top_ups
    }

    fn deposit(self, amount: usize, max: usize) -> Option<Self> {
        let Self { balance, top_ups } = self;
        if top_ups > 0 && balance < ATTEMPT && amount < TOP_UP {
            let (balance, top_ups) = (balance + TOP_UP, top_ups - 1);
            return Some(Self { balance, top_ups });
        }
        self.add(amount, max)
    }

    /// `None` if the balance is at its maximum, so that races write nothing.
    fn add(self, amount: usize, max: usize) -> Option<Self> {
        // This does not overflow: each part is below 2^16 * 1000.
        let balance = max.min(MOST).min(self.balance + amount);
        (balance > self.balance).then_some(Self { balance, ..self })
    }

    fn withdraw(self) -> Option<Self> {
        let balance = self.balance.checked_sub(ATTEMPT)?;
        Some(Self { balance, ..self })
    }
}

impl Account {
    /// Starts with a balance, and a start reserve of this number of attempts.
    pub(super) fn new(balance: usize, start: u8) -> Self {
        let state = match start {
            0 => State {
                balance: balance.min(MOST),
                top_ups: 0,
            },
            // One deposit completes the first attempt.
            start => State {
                balance: (balance + ATTEMPT - TOP_UP).min(MOST),
                top_ups: usize::from(start.min(MOST_START)) * (ATTEMPT / TOP_UP),
            },
        };
        Self(AtomicUsize::new(state.pack()))
    }

    pub(super) fn deposit(&self, amount: usize, max: usize) {
        let _is_changed = self.update(|state| state.deposit(amount, max));
    }

    /// Gives an attempt back.
    pub(super) fn refund(&self, max: usize) {
        let _is_changed = self.update(|state| state.add(ATTEMPT, max));
    }

    /// Takes an attempt out, if the balance has one.
    pub(super) fn withdraw(&self) -> bool {
        self.update(State::withdraw)
    }

    pub(super) fn balance(&self) -> usize {
        State::unpack(self.0.load(Ordering::Relaxed)).balance
    }

    /// The word guards no other memory, so no ordering is needed.
    fn update(&self, change: impl Fn(State) -> Option<State>) -> bool {
        let change = |word| change(State::unpack(word)).map(State::pack);
        let updated = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
        updated.is_ok()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
