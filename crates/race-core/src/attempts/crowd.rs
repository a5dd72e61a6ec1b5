use alloc::boxed::Box;
use core::{
    mem::{self, ManuallyDrop},
    task::Waker,
};

use super::{
    Side,
    bits::{lowest, ones},
    group::BITS,
    groups::Groups,
    order::Order,
    root::{MEMBERS, Root},
};

/// How many slots the first group has. Its other members are the timer and the source, and one bit is
/// the root's.
const SLOTS: usize = BITS - 3;

/// The bits of all slots.
const ALL: usize = (1 << SLOTS) - 1;

/// After how many rounds of several, in which none has finished, they take turns in being first.
const STALLED: u32 = 64;

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
    sides: usize,
    /// Kept while the slots of the first group were not filled in their own order.
    order: Option<Box<Order>>,
    /// In how many rounds of several, up to the last, none has finished.
    stalled: u32,
    /// A round has begun, and nobody was visited.
    begins: bool,
    /// Who was the first to be visited in the last round.
    opener: usize,
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
            sides: 0,
            order: None,
            stalled: 0,
            begins: false,
            opener: 0,
            from: 0,
            others: None,
        }
    }

    /// Sees to it that the next wake wakes `waker`, and starts a round with what was woken before.
    #[inline]
    pub(crate) fn begin(&mut self, waker: &Waker) {
        let (ready, _old) = self.root.arm(waker);
        self.sides |= ready & !ALL;
        self.round |= (ready | mem::take(&mut self.marked)) & self.taken;
        if let Some(others) = &mut self.others {
            others.begin(waker);
        }
        self.begins = true;
        self.from = match self.stalled > STALLED {
            true => self.opener + 1,
            false => 0,
        };
    }

    /// The next slot of this round. In the order of pushing, as far as the first group goes.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<usize> {
        let slot = match self.from {
            0 => self.next_in_order()?,
            from => self.next_in_turn(from)?,
        };
        if mem::take(&mut self.begins) {
            self.opener = slot;
            if self.is_amid_round() {
                self.stalled = self.stalled.saturating_add(1);
            }
        }
        Some(slot)
    }

    #[inline]
    fn next_in_order(&mut self) -> Option<usize> {
        let slot = match &self.order {
            Some(order) if self.round != 0 && !self.round.is_power_of_two() => {
                order.first_of(self.round)
            }
            _ => None,
        };
        match slot {
            Some(slot) => Some(self.visit(slot.into())),
            None => self.lowest(),
        }
    }

    #[inline]
    fn lowest(&mut self) -> Option<usize> {
        match self.round {
            0 => Some(SLOTS + self.others.as_mut()?.next(0)?),
            round => Some(self.visit(lowest(round))),
        }
    }

    /// Takes a slot of the first group out of the round.
    #[inline]
    fn visit(&mut self, slot: usize) -> usize {
        self.round &= !(1 << slot);
        slot
    }

    /// The next slot that is not before `from`; when there are no more, those before it.
    #[cold]
    fn next_in_turn(&mut self, from: usize) -> Option<usize> {
        let late = match from < SLOTS {
            true => self.round & (usize::MAX << from),
            false => 0,
        };
        let slot = if late != 0 {
            Some(self.visit(lowest(late)))
        } else {
            let others = self.others.as_mut();
            let slot = others.and_then(|others| others.next(from.saturating_sub(SLOTS)));
            slot.map(|slot| SLOTS + slot)
        };
        self.from = slot.map_or(0, |slot| slot + 1);
        slot.or_else(|| self.lowest())
    }

    /// Takes a slot of the first group out of the round, if it is to be visited in it.
    pub(crate) fn take_first(&mut self, slot: usize) -> bool {
        let is_due = self.round >> slot & 1 == 1;
        self.visit(slot);
        is_due
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
        self.stalled = 0;
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

    /// A slot is not to be visited, whoever has woken it. It is to be freed now.
    pub(crate) fn forget(&mut self, slot: usize) {
        match &mut self.others {
            Some(others) if slot >= SLOTS => others.forget(slot - SLOTS),
            _ => {
                self.round &= !(1 << slot);
                self.marked &= !(1 << slot);
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
    pub(crate) fn side_waker(&mut self, side: Side) -> (ManuallyDrop<Waker>, bool) {
        let bit = SLOTS + side as usize;
        let woken = self.sides >> bit & 1 == 1;
        self.sides &= !(1 << bit);
        (self.root.waker(bit as u8), woken)
    }

    /// Lets go of the parent's waker; wakes do nothing from here on.
    pub(crate) fn close(&self) {
        self.root.close();
        if let Some(others) = &self.others {
            others.close();
        }
    }

    /// The slots that are taken.
    pub(crate) fn slots(&self) -> impl Iterator<Item = usize> {
        let others = self.others.iter().flat_map(|others| others.slots());
        ones(self.taken).chain(others.map(|slot| SLOTS + slot))
    }
}
