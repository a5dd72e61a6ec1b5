use alloc::vec::Vec;
use core::{
    mem::{self, ManuallyDrop},
    task::Waker,
};

use crate::attempts::{
    bit_set::{BitSet, lowest_bit, set_bits},
    wake::{ALL_BITS, BITS, Entry, GroupHandle, RootGroup, STACK},
};

/// The second tier of a `ReadySet`: any number of groups, which share the stack of one root.
///
/// Slots are numbered from zero here. The methods mirror those of `ReadySet`.
pub(crate) struct StackedGroups {
    root: RootGroup<STACK>,
    groups: Vec<Members>,
    /// The groups with slots to poll in this round.
    due: BitSet,
    /// The groups with scheduled slots.
    scheduled: BitSet,
    /// The groups with a free slot.
    open: BitSet,
}

/// A group, and the poller's notes: words with a bit for each member.
struct Members {
    group: GroupHandle,
    occupied: usize,
    /// Still to be polled in this round.
    round: usize,
    /// To be polled in the next round without a wake.
    scheduled: usize,
}

impl StackedGroups {
    pub(crate) fn new() -> Self {
        Self {
            root: RootGroup::new(),
            groups: Vec::new(),
            due: BitSet::default(),
            scheduled: BitSet::default(),
            open: BitSet::default(),
        }
    }

    #[inline]
    pub(crate) fn begin_round(&mut self, waker: &Waker) {
        let (mut top, replaced) = self.root.register_and_take_stack(waker);
        while let Some(entry) = top.entry() {
            let (index, woken, below) = match entry {
                Entry::Group(index) => {
                    let (woken, below) = self.groups[index].group.take();
                    (index, woken, Some(below))
                }
                Entry::Member(index, bit) => (index, 1 << bit, None),
            };
            let members = &mut self.groups[index];
            members.round |= woken & members.occupied; // a woken slot may be free by now
            if members.round != 0 {
                self.due.insert(index);
            }
            match below {
                Some(below) => top = below,
                None => break,
            }
        }
        while let Some(index) = self.scheduled.first() {
            let members = &mut self.groups[index];
            members.round |= mem::take(&mut members.scheduled);
            self.scheduled.remove(index);
            self.due.insert(index);
        }
        drop(replaced); // may panic; every wake is noted
    }

    /// Returns the next slot of this round that is not below `start`, and removes it from the
    /// round.
    #[inline]
    pub(crate) fn next(&mut self, start: usize) -> Option<usize> {
        let (index, bit) = match start {
            0 => self.first_due()?,
            start => self.first_due_from(start)?,
        };
        let members = &mut self.groups[index];
        members.round &= !(1 << bit);
        if members.round == 0 {
            self.due.remove(index);
        }
        Some(index * BITS + bit)
    }

    #[inline]
    fn first_due(&mut self) -> Option<(usize, usize)> {
        let index = self.due.first()?;
        Some((index, lowest_bit(self.groups[index].round)))
    }

    #[cold]
    fn first_due_from(&mut self, start: usize) -> Option<(usize, usize)> {
        let in_group = self.groups.get(start / BITS)?.round & (usize::MAX << (start % BITS));
        if in_group != 0 {
            return Some((start / BITS, lowest_bit(in_group)));
        }
        let later = self.groups.iter().enumerate().skip(start / BITS + 1);
        let mut due = later.filter(|(_, members)| members.round != 0);
        due.next()
            .map(|(index, members)| (index, lowest_bit(members.round)))
    }

    #[inline]
    pub(crate) fn has_next(&mut self) -> bool {
        self.due.first().is_some()
    }

    #[inline]
    pub(crate) fn occupy(&mut self) -> usize {
        let index = match self.open.first() {
            Some(index) => index,
            None => self.add_group(),
        };
        let members = &mut self.groups[index];
        let bit = lowest_bit(!members.occupied);
        members.occupied |= 1 << bit;
        if members.occupied == ALL_BITS {
            self.open.remove(index);
        }
        index * BITS + bit
    }

    #[cold]
    fn add_group(&mut self) -> usize {
        let index = self.groups.len();
        self.groups.push(Members {
            group: GroupHandle::on_stack_of(&self.root, index),
            occupied: 0,
            round: 0,
            scheduled: 0,
        });
        self.open.insert(index);
        index
    }

    #[inline]
    pub(crate) fn free(&mut self, slot: usize) {
        let index = slot / BITS;
        let members = &mut self.groups[index];
        if members.occupied == ALL_BITS {
            self.open.insert(index);
        }
        members.occupied &= !(1 << (slot % BITS));
    }

    #[inline]
    pub(crate) fn schedule(&mut self, slot: usize) {
        let index = slot / BITS;
        let members = &mut self.groups[index];
        if members.scheduled == 0 {
            self.scheduled.insert(index);
        }
        members.scheduled |= 1 << (slot % BITS);
    }

    pub(crate) fn unschedule(&mut self, slot: usize) {
        let (index, bit) = (slot / BITS, 1 << (slot % BITS));
        let members = &mut self.groups[index];
        members.round &= !bit;
        members.scheduled &= !bit;
        if members.round == 0 {
            self.due.remove(index);
        }
        if members.scheduled == 0 {
            self.scheduled.remove(index);
        }
    }

    #[inline]
    pub(crate) fn waker(&self, slot: usize) -> ManuallyDrop<Waker> {
        self.groups[slot / BITS].group.waker((slot % BITS) as u8)
    }

    pub(crate) fn close(&self) {
        self.root.close();
    }

    pub(crate) fn occupied(&self) -> impl Iterator<Item = usize> {
        let groups = self.groups.iter().enumerate();
        groups.flat_map(|(index, it)| set_bits(it.occupied).map(move |bit| index * BITS + bit))
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn begin_wake(&self, slot: usize) -> crate::attempts::wake::UnfinishedWake {
        let (index, bit) = (slot / BITS, (slot % BITS) as u8);
        let group = &self.groups[index].group;
        crate::attempts::wake::UnfinishedWake::of_group(&self.root, group, index, bit)
    }
}
