use alloc::boxed::Box;
use core::{
    mem::{self, ManuallyDrop},
    task::Waker,
};

use super::{
    bits::{lowest, ones},
    group::{BITS, MEMBERS, Root},
    groups::Groups,
    order::Order,
};
use crate::running::Aside;

/// How many slots the first group has. Its other members are the timer and the source, and one bit is
/// the root's.
const SLOTS: usize = BITS - 3;

/// The bits of all slots.
const ALL: usize = (1 << SLOTS) - 1;

/// In how many rounds more than not the same one may come first.
const STREAK: u32 = 32;

/// What is counted. Beyond this nobody remembers.
const STREAK_AT_MOST: u32 = 2 * STREAK;

/// Who of many is awake: which slots are taken, and which are to be polled in this round.
///
/// The first slots are a group of their own, so that few attempts need no more than that.
pub(crate) struct Crowd {
    root: Root<MEMBERS>,
    /// Slots of the first group that are taken.
    taken: usize,
    /// Still to be polled in this round.
    round: usize,
    /// To be polled in the next round, though not woken.
    marked: usize,
    /// Of the timer and the source, who has woken.
    asides: usize,
    /// Kept while the slots of the first group were not filled in their own order.
    order: Option<Box<Order>>,
    /// Who is the lowest time and again, and in how many rounds more than not. (This is the majority
    /// vote of Boyer and Moore, 1981.)
    lowest: usize,
    streak: u32,
    /// A round has begun, and nobody was visited.
    begins: bool,
    /// Who was the first to be visited in the last round.
    opener: usize,
    /// The next to be visited is the first of a round that is not in the usual order.
    opens: bool,
    /// In this round the slots before this one come last.
    from: usize,
    /// For all further slots.
    others: Option<Box<Groups>>,
}

impl Crowd {
    pub(crate) fn new() -> Self {
        Self {
            root: Root::new(),
            taken: 0,
            round: 0,
            marked: 0,
            asides: 0,
            order: None,
            lowest: 0,
            streak: 0,
            begins: false,
            opener: 0,
            opens: false,
            from: 0,
            others: None,
        }
    }

    /// Sees to it that the next wake wakes `waker`, and starts a round with what was woken before.
    #[inline]
    pub(crate) fn begin(&mut self, waker: &Waker) {
        let ready = self.root.arm(waker);
        self.asides |= ready & !ALL;
        self.round |= (ready | mem::take(&mut self.marked)) & self.taken;
        if let Some(others) = &mut self.others {
            others.begin(waker);
        }
        self.begins = true;
        if self.streak > STREAK {
            self.take_turns();
        }
    }

    /// Who comes first most of the time gives way in this round.
    #[cold]
    fn take_turns(&mut self) {
        let lowest = match self.round {
            0 => self.others.as_mut().and_then(|others| others.lowest()),
            round => Some(lowest(round)),
        };
        if let Some(lowest) = lowest {
            self.vote(lowest);
            self.begins = false;
            self.from = self.opener + 1;
            self.opens = true;
        }
    }

    /// This one was the lowest in a round.
    #[inline]
    fn vote(&mut self, lowest: usize) {
        if lowest == self.lowest {
            self.streak = STREAK_AT_MOST.min(self.streak + 1);
        } else if self.streak == 0 {
            self.lowest = lowest;
            self.opener = lowest;
        } else {
            self.streak -= 1;
        }
    }

    /// The next slot of this round. In the order of pushing, as far as the first group goes.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<usize> {
        if self.from != 0 {
            return self.next_in_turn();
        }
        let slot = self.next_in_order()?;
        if mem::take(&mut self.begins) {
            self.vote(slot);
        }
        Some(slot)
    }

    #[inline]
    fn next_in_order(&mut self) -> Option<usize> {
        if self.round == 0 {
            return Some(SLOTS + self.others.as_mut()?.next(0)?);
        }
        let slot = match &self.order {
            Some(order) if !self.round.is_power_of_two() => order.first_of(self.round),
            _ => None,
        };
        let slot = slot.map_or_else(|| lowest(self.round), usize::from);
        self.round &= !(1 << slot);
        Some(slot)
    }

    /// The next slot that is not before `from`, and when there are no more, those before it.
    #[cold]
    fn next_in_turn(&mut self) -> Option<usize> {
        let from = mem::take(&mut self.from);
        let late = match from < SLOTS {
            true => self.round & (usize::MAX << from),
            false => 0,
        };
        let slot = if late != 0 {
            let slot = lowest(late);
            self.round &= !(1 << slot);
            Some(slot)
        } else {
            let others = self.others.as_mut();
            let slot = others.and_then(|others| others.next(from.saturating_sub(SLOTS)));
            slot.map(|slot| SLOTS + slot)
        };
        let slot = match slot {
            Some(slot) => {
                self.from = slot + 1;
                slot
            }
            None => self.next_in_order()?,
        };
        if mem::take(&mut self.opens) {
            self.opener = slot;
        }
        Some(slot)
    }

    /// Whether there is a next slot in this round.
    #[inline]
    pub(crate) fn is_amid_round(&mut self) -> bool {
        self.round != 0 || self.others.as_mut().is_some_and(|it| it.is_amid_round())
    }

    /// Takes the lowest free slot. A waker, if given, is the one to be woken before the next round.
    #[inline]
    pub(crate) fn insert(&mut self, waker: Option<&Waker>) -> usize {
        let slot = lowest(!self.taken);
        if slot >= SLOTS {
            let others = self.others.get_or_insert_with(|| {
                let mut others = Box::new(Groups::new());
                if let Some(waker) = waker {
                    others.begin(waker);
                }
                others
            });
            return SLOTS + others.insert();
        }
        match &mut self.order {
            Some(order) => order.push(slot as u8),
            None if self.taken >> slot == 0 => {}
            none => none
                .insert(Box::new(Order::of(self.taken)))
                .push(slot as u8),
        }
        self.taken |= 1 << slot;
        slot
    }

    /// Frees a slot.
    #[inline]
    pub(crate) fn remove(&mut self, slot: usize) {
        if slot == self.lowest {
            self.streak = 0;
        }
        match &mut self.others {
            Some(others) if slot >= SLOTS => others.remove(slot - SLOTS),
            _ => {
                self.taken &= !(1 << slot);
                if self.taken == 0 {
                    self.order = None;
                } else if let Some(order) = &mut self.order {
                    order.remove(slot as u8);
                }
            }
        }
    }

    /// Has a slot polled in the next round, though nobody woke it.
    #[inline]
    pub(crate) fn mark(&mut self, slot: usize) {
        match &mut self.others {
            Some(others) if slot >= SLOTS => others.mark(slot - SLOTS),
            _ => self.marked |= 1 << slot,
        }
    }

    /// A borrowed waker for a slot.
    #[inline]
    pub(crate) fn waker(&self, slot: usize) -> ManuallyDrop<Waker> {
        match &self.others {
            Some(others) if slot >= SLOTS => others.waker(slot - SLOTS),
            _ => self.root.waker(slot as u8),
        }
    }

    /// A borrowed waker for the timer or the source, and whether it was woken since this was last
    /// asked.
    #[inline]
    pub(crate) fn aside(&mut self, aside: Aside) -> (ManuallyDrop<Waker>, bool) {
        let bit = SLOTS + aside as usize;
        let woken = self.asides >> bit & 1 == 1;
        self.asides &= !(1 << bit);
        (self.root.waker(bit as u8), woken)
    }

    /// Lets go of the parent's waker; wakes do nothing from here on.
    pub(crate) fn close(&mut self) {
        self.root.close();
        if let Some(others) = &mut self.others {
            others.close();
        }
    }

    /// The slots that are taken.
    pub(crate) fn slots(&self) -> impl Iterator<Item = usize> {
        let others = self.others.iter().flat_map(|others| others.slots());
        ones(self.taken).chain(others.map(|slot| SLOTS + slot))
    }
}
