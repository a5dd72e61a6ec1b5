//! Ranges that ask for no byte, or that stores reject: there is nothing to hedge.

use std::ops::Range;

use object_store::GetOptions;

/// Returns whether stores reject the range: it is empty or inverted.
pub(crate) fn is_rejected(options: &GetOptions) -> bool {
    let range = options.range.as_ref();
    range.is_some_and(|range| range.is_valid().is_err())
}

/// Returns whether no range asks for a byte, or one is inverted.
///
/// An empty range beside others is no reason: stores merge it with them.
pub(crate) fn are_odd(ranges: &[Range<u64>]) -> bool {
    ranges.iter().all(Range::is_empty) || ranges.iter().any(|range| range.start > range.end)
}

#[cfg(test)]
mod tests {
    use object_store::GetRange;

    use super::*;

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "they are tested")]
    #[expect(
        clippy::single_range_in_vec_init,
        reason = "lists of ranges are tested"
    )]
    fn empty_and_inverted_ranges_are_odd() {
        let rejected = |range: GetRange| is_rejected(&GetOptions::new().with_range(Some(range)));
        assert!(rejected(GetRange::Bounded(3..3)));
        assert!(rejected(GetRange::Bounded(3..2)));
        for range in [
            GetRange::Bounded(3..4),
            GetRange::Offset(3),
            GetRange::Suffix(0),
        ] {
            assert!(!rejected(range));
        }
        assert!(!is_rejected(&GetOptions::new()));

        for odd in [&[][..], &[3..3], &[3..3, 0..0], &[3..2], &[0..5, 3..2]] {
            assert!(are_odd(odd), "{odd:?}");
        }
        assert!(!are_odd(&[0..5, 3..3]));
        assert!(!are_odd(&[3..4]));
    }
}
