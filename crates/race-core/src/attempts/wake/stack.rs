//! The word `top` of a root: the stack of woken groups, and the flags of the root.

use super::bits::BITS;
use crate::attempts::Side;

/// The flag by which the poller claims the root. It makes the word nonzero without a wake.
pub(super) const CLAIM: usize = 1;

/// The flags of the timer and the source.
const SIDES: usize = 0b110;

/// The kind of the top entry of the stack; neither if the stack is empty.
const MEMBER: usize = 1 << 3;
const GROUP: usize = 1 << 4;

/// The number of the top entry is in the bits from here.
const SHIFT: u32 = 5;

/// The number of groups whose members all have numbers that fit above `SHIFT`.
pub(super) const MAX_GROUPS: usize = (usize::MAX >> SHIFT) / BITS;

/// A value of `top`, or of the `next` of a group, which has no flags.
#[derive(Clone, Copy)]
pub(crate) struct Top(pub(super) usize);

/// An entry of the stack.
pub(crate) enum Entry {
    /// The index of a group. There may be an entry below it.
    Group(usize),
    /// A member that was woken while `top` was zero, by its number. It is the lowest entry.
    Member(usize),
}

impl Top {
    pub(crate) const EMPTY: Self = Self(0);

    /// Returns the entry of a member.
    #[inline]
    pub(super) fn member(group: u32, bit: u8) -> Self {
        let number = group as usize * BITS + usize::from(bit);
        Self(number << SHIFT | MEMBER)
    }

    /// Returns the flag of a side.
    #[inline]
    pub(crate) fn side(side: Side) -> u8 {
        2 << side as u8
    }

    /// Returns the new `top` when a group is pushed. The flags stay.
    pub(super) fn with_group(self, group: u32) -> usize {
        (group as usize) << SHIFT | GROUP | self.0 & (CLAIM | SIDES)
    }

    /// Returns the stack without the flags.
    pub(super) fn stack(self) -> usize {
        self.0 & !(CLAIM | SIDES)
    }

    /// Returns whether nothing was woken.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the flags of the sides that were woken.
    #[inline]
    pub(crate) fn sides(self) -> u8 {
        (self.0 & SIDES) as u8
    }

    /// Returns the number of the member if it is all that was woken.
    #[inline]
    pub(crate) fn only_member(self) -> Option<usize> {
        (self.0 & !(usize::MAX << SHIFT) == MEMBER).then_some(self.0 >> SHIFT)
    }

    /// Returns the top entry, or `None` if the stack is empty.
    #[inline]
    pub(crate) fn top_entry(self) -> Option<Entry> {
        match self.0 & (MEMBER | GROUP) {
            0 => None,
            MEMBER => Some(Entry::Member(self.0 >> SHIFT)),
            _ => Some(Entry::Group(self.0 >> SHIFT)),
        }
    }
}
