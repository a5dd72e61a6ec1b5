//! The codes of groups and members on a stack.
//!
//! A code is never zero, which is the empty stack. Bit 0 is reserved for `STACK`, bit 1 tells a
//! member from a group, and the remaining bits are one more than the index.

use super::group::BITS;

/// The code of the top entry of a stack that the poller took.
#[derive(Clone, Copy)]
pub(crate) struct StackTop(pub(super) usize);

/// An entry of a stack.
pub(crate) enum Entry {
    /// The index of a group. There may be an entry below it.
    Group(usize),
    /// A member: the index of its group, and its bit. It is the lowest entry.
    Member(usize, u8),
}

/// The bit of the code of a member.
const MEMBER: usize = 2;

impl StackTop {
    /// Returns the top entry, or `None` if the stack is empty.
    #[inline]
    pub(crate) fn entry(self) -> Option<Entry> {
        let number = (self.0 >> 2).checked_sub(1)?;
        Some(match self.0 & MEMBER {
            0 => Entry::Group(number),
            _ => Entry::Member(number / BITS, (number % BITS) as u8),
        })
    }
}

pub(super) fn group_code(index: usize) -> usize {
    (index + 1) << 2
}

pub(super) fn member_code(index: usize, bit: u8) -> usize {
    group_code(index * BITS + usize::from(bit)) | MEMBER
}
