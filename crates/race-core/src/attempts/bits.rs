use alloc::vec::Vec;
use core::iter;

const BITS: usize = usize::BITS as usize;

/// A set of small numbers.
#[derive(Default)]
pub(crate) struct Bits {
    words: Vec<usize>,
    /// All words before this one are zero.
    from: usize,
}

impl Bits {
    #[inline]
    pub(crate) fn insert(&mut self, number: usize) {
        let word = number / BITS;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (number % BITS);
        self.from = self.from.min(word);
    }

    #[inline]
    pub(crate) fn remove(&mut self, number: usize) {
        if let Some(word) = self.words.get_mut(number / BITS) {
            *word &= !(1 << (number % BITS));
        }
    }

    /// The lowest.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<usize> {
        while let Some(word) = self.words.get(self.from) {
            if *word != 0 {
                return Some(self.from * BITS + lowest(*word));
            }
            self.from += 1;
        }
        None
    }
}

/// The lowest bit that is set; as many as a word has if none is.
#[inline]
pub(crate) fn lowest(word: usize) -> usize {
    word.trailing_zeros() as usize
}

/// The bits that are set, the lowest first.
pub(crate) fn ones(mut word: usize) -> impl Iterator<Item = usize> {
    iter::from_fn(move || {
        let bit = lowest(word);
        word &= word.checked_sub(1)?;
        Some(bit)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_comes_first_wherever_it_was_put() {
        let mut bits = Bits::default();
        assert_eq!(bits.first(), None);
        for number in [700, 3, 64, 70] {
            bits.insert(number);
        }
        for number in [3, 64, 70] {
            assert_eq!(bits.first(), Some(number));
            bits.remove(number);
        }
        bits.insert(5);
        assert_eq!(bits.first(), Some(5));
        bits.remove(5);
        bits.remove(10_000);
        assert_eq!(bits.first(), Some(700));
    }
}
