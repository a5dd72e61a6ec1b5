//! The codes by which groups and members are known on a stack.

use super::group::BITS;

/// What is on top of a stack that was taken.
#[derive(Clone, Copy)]
pub(crate) struct Top(pub(super) usize);

/// What a `Top` stands for.
pub(crate) enum Awake {
    /// A group, and perhaps something below it.
    Group(usize),
    /// A member of a group, by index and bit, with nothing below it.
    Member(usize, u8),
}

impl Top {
    #[inline]
    pub(crate) fn awake(self) -> Option<Awake> {
        let number = (self.0 >> 2).checked_sub(1)?;
        Some(match self.0 & MEMBER {
            0 => Awake::Group(number),
            _ => Awake::Member(number / BITS, (number % BITS) as u8),
        })
    }
}

/// Marks the code of a member. (The lowest bit is left to `STACK`, and no code is zero.)
const MEMBER: usize = 2;

pub(super) fn code(index: usize) -> usize {
    (index + 1) << 2
}

pub(super) fn code_of_member(index: usize, bit: u8) -> usize {
    code(index * BITS + usize::from(bit)) | MEMBER
}
