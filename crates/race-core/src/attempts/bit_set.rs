use alloc::vec::Vec;
use core::iter;

const BITS: usize = usize::BITS as usize;

/// A set of small integers.
#[derive(Default)]
pub(crate) struct BitSet {
    words: Vec<usize>,
    /// All words before this one are zero.
    first_word: usize,
}

impl BitSet {
    /// Makes room for a number.
    pub(crate) fn reserve(&mut self, number: usize) {
        if number / BITS >= self.words.len() {
            self.words.resize(number / BITS + 1, 0);
        }
    }

    /// Inserts a number for which there is room.
    #[inline]
    pub(crate) fn insert(&mut self, number: usize) {
        let word = number / BITS;
        self.words[word] |= 1 << (number % BITS);
        self.first_word = self.first_word.min(word);
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: usize) {
        if let Some(word) = self.words.get_mut(number / BITS) {
            *word &= !(1 << (number % BITS));
        }
    }

    /// Returns the lowest number in the set that is not below `number`.
    pub(crate) fn first_from(&self, number: usize) -> Option<usize> {
        let (first, bit) = (number / BITS, number % BITS);
        let in_first = self.words.get(first)? & (usize::MAX << bit);
        let later = (first + 1..).zip(self.words.get(first + 1..)?.iter().copied());
        let mut words = iter::once((first, in_first)).chain(later);
        let (index, word) = words.find(|(_, word)| *word != 0)?;
        Some(index * BITS + lowest_bit(word))
    }

    /// Returns the lowest number in the set.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<usize> {
        while let Some(word) = self.words.get(self.first_word) {
            if *word != 0 {
                return Some(self.first_word * BITS + lowest_bit(*word));
            }
            self.first_word += 1;
        }
        None
    }
}

/// Returns the index of the lowest set bit, or the width of a word if no bit is set.
#[inline]
pub(crate) fn lowest_bit(word: usize) -> usize {
    word.trailing_zeros() as usize
}

/// Returns the indices of the set bits in ascending order.
pub(crate) fn set_bits(mut word: usize) -> impl Iterator<Item = usize> {
    iter::from_fn(move || {
        let bit = lowest_bit(word);
        word &= word.checked_sub(1)?;
        Some(bit)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn first_returns_the_lowest_number_in_any_order_of_insertion() {
        let mut set = BitSet::default();
        assert_eq!(set.first(), None);
        set.reserve(700);
        for number in [700, 3, 64, 70] {
            set.insert(number);
        }
        for number in [3, 64, 70] {
            assert_eq!(set.first(), Some(number));
            set.remove(number);
        }
        set.insert(5);
        assert_eq!(set.first(), Some(5));
        set.remove(5);
        set.remove(10_000);
        assert_eq!(set.first(), Some(700));
    }

    #[test]
    fn set_bits_are_ascending() {
        assert!(set_bits(0).eq([0_usize; 0]));
        assert!(set_bits(0b10_1001).eq([0, 3, 5]));
        assert!(set_bits(usize::MAX).eq(0..BITS));
    }
}
