use alloc::vec::Vec;
use core::{
    mem::{self, ManuallyDrop},
    task::Waker,
};

use super::{
    bits::{Bits, lowest, ones},
    group::{ALL_BITS, BITS, GroupHandle},
    root::{Root, STACK},
    stack::Awake,
};

/// Any number of groups: those that are awake are on a stack.
pub(crate) struct Groups {
    root: Root<STACK>,
    groups: Vec<Members>,
    /// The groups that are to be visited in this round, still.
    awake: Bits,
    /// The groups that have marked slots.
    marked: Bits,
    /// The groups that have a free slot.
    open: Bits,
}

/// A group, and what the poller notes of its members: a bit for each in every word.
struct Members {
    group: GroupHandle,
    taken: usize,
    /// To be polled in this round, still.
    round: usize,
    /// To be polled in the next round, though not woken.
    marked: usize,
}

impl Groups {
    pub(crate) fn new() -> Self {
        Self {
            root: Root::new(),
            groups: Vec::new(),
            awake: Bits::default(),
            marked: Bits::default(),
            open: Bits::default(),
        }
    }

    /// Sees to it that the next wake wakes `waker`, and starts a round with what was woken before.
    #[inline]
    pub(crate) fn begin(&mut self, waker: &Waker) {
        let (mut top, _old) = self.root.arm_stack(waker);
        while let Some(awake) = top.awake() {
            let (index, woken, next) = match awake {
                Awake::Group(index) => {
                    let (woken, next) = self.groups[index].group.take();
                    (index, woken, Some(next))
                }
                Awake::Member(index, bit) => (index, 1 << bit, None),
            };
            let members = &mut self.groups[index];
            members.round |= woken & members.taken; // some may have gone since
            if members.round != 0 {
                self.awake.insert(index);
            }
            match next {
                Some(next) => top = next,
                None => break,
            }
        }
        while let Some(index) = self.marked.first() {
            let members = &mut self.groups[index];
            members.round |= mem::take(&mut members.marked);
            self.marked.remove(index);
            self.awake.insert(index);
        }
    }

    /// The next slot of this round that is not before `from`.
    #[inline]
    pub(crate) fn next(&mut self, from: usize) -> Option<usize> {
        let (index, bit) = match from {
            0 => self.first_awake()?,
            from => self.first_awake_from(from)?,
        };
        let members = &mut self.groups[index];
        members.round &= !(1 << bit);
        if members.round == 0 {
            self.awake.remove(index);
        }
        Some(index * BITS + bit)
    }

    #[inline]
    fn first_awake(&mut self) -> Option<(usize, usize)> {
        let index = self.awake.first()?;
        Some((index, lowest(self.groups[index].round)))
    }

    #[cold]
    fn first_awake_from(&mut self, from: usize) -> Option<(usize, usize)> {
        let here = self.groups.get(from / BITS)?.round & (usize::MAX << (from % BITS));
        if here != 0 {
            return Some((from / BITS, lowest(here)));
        }
        let later = self.groups.iter().enumerate().skip(from / BITS + 1);
        let mut awake = later.filter(|(_, members)| members.round != 0);
        awake
            .next()
            .map(|(index, members)| (index, lowest(members.round)))
    }

    /// See [`Crowd::is_amid_round`](super::crowd::Crowd::is_amid_round).
    #[inline]
    pub(crate) fn is_amid_round(&mut self) -> bool {
        self.awake.first().is_some()
    }

    /// Takes the lowest free slot.
    #[inline]
    pub(crate) fn insert(&mut self) -> usize {
        let index = match self.open.first() {
            Some(index) => index,
            None => self.add_group(),
        };
        let members = &mut self.groups[index];
        let bit = lowest(!members.taken);
        members.taken |= 1 << bit;
        if members.taken == ALL_BITS {
            self.open.remove(index);
        }
        index * BITS + bit
    }

    #[cold]
    fn add_group(&mut self) -> usize {
        let index = self.groups.len();
        self.groups.push(Members {
            group: GroupHandle::on_stack_of(&self.root, index),
            taken: 0,
            round: 0,
            marked: 0,
        });
        self.open.insert(index);
        index
    }

    /// Frees a slot.
    #[inline]
    pub(crate) fn remove(&mut self, slot: usize) {
        let index = slot / BITS;
        let members = &mut self.groups[index];
        if members.taken == ALL_BITS {
            self.open.insert(index);
        }
        members.taken &= !(1 << (slot % BITS));
    }

    /// See [`Crowd::forget`](super::crowd::Crowd::forget).
    pub(crate) fn forget(&mut self, slot: usize) {
        let (index, bit) = (slot / BITS, 1 << (slot % BITS));
        let members = &mut self.groups[index];
        members.round &= !bit;
        members.marked &= !bit;
        if members.round == 0 {
            self.awake.remove(index);
        }
        if members.marked == 0 {
            self.marked.remove(index);
        }
    }

    /// Has a slot polled in the next round, though nobody woke it.
    #[inline]
    pub(crate) fn mark(&mut self, slot: usize) {
        let index = slot / BITS;
        let members = &mut self.groups[index];
        if members.marked == 0 {
            self.marked.insert(index);
        }
        members.marked |= 1 << (slot % BITS);
    }

    /// See [`GroupHandle::waker`].
    #[inline]
    pub(crate) fn waker(&self, slot: usize) -> ManuallyDrop<Waker> {
        self.groups[slot / BITS].group.waker((slot % BITS) as u8)
    }

    /// See [`Root::close`].
    pub(crate) fn close(&self) {
        self.root.close();
    }

    /// The slots that are taken.
    pub(crate) fn slots(&self) -> impl Iterator<Item = usize> {
        let groups = self.groups.iter().enumerate();
        groups.flat_map(|(index, it)| ones(it.taken).map(move |bit| index * BITS + bit))
    }
}
