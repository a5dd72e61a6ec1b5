use std::ops::Range;

use object_store::{GetOptions, GetRange};

/// A kind of read whose latencies are alike: the operation, and how much it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadClass {
    /// `head`.
    Head,
    /// `get`, `get_range` and `get_opts`, by the length of the range.
    Get(SizeClass),
    /// `get_ranges`, by the sum of the lengths.
    Ranges(SizeClass),
}

/// How many bytes a read asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SizeClass {
    /// Up to 64 KiB.
    UpTo64KiB,
    /// Up to 1 MiB.
    UpTo1MiB,
    /// Up to 8 MiB.
    UpTo8MiB,
    /// More than 8 MiB, or an unknown number: a GET without a range, or from an offset to the end.
    Larger,
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

impl SizeClass {
    /// Returns the class of a number of bytes.
    #[must_use]
    pub fn of(bytes: u64) -> Self {
        match bytes {
            bytes if bytes <= 64 * KIB => Self::UpTo64KiB,
            bytes if bytes <= MIB => Self::UpTo1MiB,
            bytes if bytes <= 8 * MIB => Self::UpTo8MiB,
            _ => Self::Larger,
        }
    }
}

impl ReadClass {
    /// All classes.
    pub const ALL: [Self; 9] = [
        Self::Head,
        Self::Get(SizeClass::UpTo64KiB),
        Self::Get(SizeClass::UpTo1MiB),
        Self::Get(SizeClass::UpTo8MiB),
        Self::Get(SizeClass::Larger),
        Self::Ranges(SizeClass::UpTo64KiB),
        Self::Ranges(SizeClass::UpTo1MiB),
        Self::Ranges(SizeClass::UpTo8MiB),
        Self::Ranges(SizeClass::Larger),
    ];

    /// Returns the class of a GET or HEAD.
    #[must_use]
    pub fn of_get(options: &GetOptions) -> Self {
        if options.head {
            return Self::Head;
        }
        Self::Get(match &options.range {
            Some(GetRange::Bounded(range)) => SizeClass::of(length(range)),
            Some(GetRange::Suffix(bytes)) => SizeClass::of(*bytes),
            Some(GetRange::Offset(_)) | None => SizeClass::Larger,
        })
    }

    /// Returns the class of a `get_ranges`.
    #[must_use]
    pub fn of_ranges(ranges: &[Range<u64>]) -> Self {
        let bytes = ranges.iter().map(length).fold(0, u64::saturating_add);
        Self::Ranges(SizeClass::of(bytes))
    }

    /// Returns the larger classes of the same operation, the nearest first; of a HEAD, which asks for
    /// nothing, all classes of a GET.
    #[cfg(feature = "adaptive")]
    pub(crate) fn larger(self) -> impl Iterator<Item = Self> {
        let end = match self {
            Self::Head | Self::Get(_) => Self::Get(SizeClass::Larger),
            Self::Ranges(_) => Self::Ranges(SizeClass::Larger),
        };
        let positions = self.position() + 1..=end.position();
        positions.map(|position| Self::ALL[position])
    }

    /// The position in [`ALL`](Self::ALL).
    #[cfg(feature = "adaptive")]
    pub(crate) fn position(self) -> usize {
        match self {
            Self::Head => 0,
            Self::Get(size) => 1 + size as usize,
            Self::Ranges(size) => 5 + size as usize,
        }
    }
}

fn length(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_is_that_of_the_requested_length() {
        use SizeClass::*;
        let get = |options: GetOptions| ReadClass::of_get(&options);
        let ranged = |range: Range<u64>| get(GetOptions::new().with_range(Some(range)));
        assert_eq!(get(GetOptions::new()), ReadClass::Get(Larger));
        assert_eq!(get(GetOptions::new().with_head(true)), ReadClass::Head);
        for (bytes, class) in [
            (0, UpTo64KiB),
            (64 * KIB, UpTo64KiB),
            (64 * KIB + 1, UpTo1MiB),
            (MIB, UpTo1MiB),
            (MIB + 1, UpTo8MiB),
            (8 * MIB, UpTo8MiB),
            (8 * MIB + 1, Larger),
        ] {
            assert_eq!(ranged(7..7 + bytes), ReadClass::Get(class));
            let suffix = GetOptions::new().with_range(Some(GetRange::Suffix(bytes)));
            assert_eq!(get(suffix), ReadClass::Get(class));
            let halves = [100..100 + bytes / 2, 0..bytes - bytes / 2];
            assert_eq!(ReadClass::of_ranges(&halves), ReadClass::Ranges(class));
        }
        let offset = GetOptions::new().with_range(Some(GetRange::Offset(1)));
        assert_eq!(get(offset), ReadClass::Get(Larger));
        let huge = [0..u64::MAX, 0..u64::MAX];
        assert_eq!(ReadClass::of_ranges(&huge), ReadClass::Ranges(Larger));
    }

    #[test]
    #[cfg(feature = "adaptive")]
    fn larger_classes_are_those_of_the_same_operation() {
        use ReadClass::{Get, Head, Ranges};
        use SizeClass::*;
        let larger = |class: ReadClass| class.larger().collect::<Vec<_>>();
        let gets = [UpTo64KiB, UpTo1MiB, UpTo8MiB, Larger].map(Get);
        assert_eq!(larger(Head), gets);
        assert_eq!(larger(Get(UpTo1MiB)), [Get(UpTo8MiB), Get(Larger)]);
        assert_eq!(larger(Get(Larger)), []);
        assert_eq!(larger(Ranges(UpTo8MiB)), [Ranges(Larger)]);
        assert_eq!(larger(Ranges(Larger)), []);
    }

    #[test]
    #[cfg(feature = "adaptive")]
    fn position_is_that_in_the_list() {
        for (position, class) in ReadClass::ALL.into_iter().enumerate() {
            assert_eq!(class.position(), position);
        }
    }
}
