use bytes::Bytes;

use crate::{Error, Key};

/// The keys that a request is about: one, a prefix, or a range.
///
/// Everything that converts to a [`Key`], such as a `&str`, converts to that one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    pub(crate) start: Bytes,
    /// The first key after a range. Empty: `start` is the only key. [`NO_END`]: there is none.
    /// Equal to `start`, and not [`NO_END`]: there are no keys.
    pub(crate) end: Bytes,
}

/// The least key: etcd accepts no empty one.
const FIRST: &[u8] = b"\0";

/// As the end of a range: there is none.
const NO_END: &[u8] = b"\0";

impl Keys {
    /// One key.
    #[must_use]
    pub fn one(key: impl Into<Key>) -> Self {
        Self {
            start: key.into().0,
            end: Bytes::new(),
        }
    }

    /// All keys that start with `prefix`. An empty prefix selects all keys.
    #[must_use]
    pub fn prefix(prefix: impl Into<Key>) -> Self {
        let Key(start) = prefix.into();
        // The first key after those with the prefix: its last byte that can grow has grown.
        let Some(last) = start.iter().rposition(|&byte| byte < u8::MAX) else {
            return Self::range_from(start);
        };
        let mut end = start[..=last].to_vec();
        end[last] += 1;
        let end = end.into();
        Self { start, end }
    }

    /// All keys from `start` on that are less than `end`. An `end` that is not greater than
    /// `start` selects no keys.
    #[must_use]
    pub fn range(start: impl Into<Key>, end: impl Into<Key>) -> Self {
        let (mut start, Key(end)) = (not_empty(start.into()), end.into());
        if end > start {
            return Self { start, end };
        }
        if start == NO_END {
            // As an end, it would have a special meaning.
            start = Bytes::from_static(b"\0\0");
        }
        let end = start.clone();
        Self { start, end }
    }

    /// All keys from `start` on, without an end. An empty `start` selects all keys.
    #[must_use]
    pub fn range_from(start: impl Into<Key>) -> Self {
        Self {
            start: not_empty(start.into()),
            end: Bytes::from_static(NO_END),
        }
    }

    /// Refuses keys that etcd does not watch, or would replace by others.
    pub(crate) fn check_watchable(&self) -> Result<(), Error> {
        if self.start.is_empty() {
            return Err(Error::Unwatchable(
                "an empty key: Keys::prefix(\"\") selects all keys",
            ));
        }
        if self.start == self.end && self.end != NO_END {
            return Err(Error::Unwatchable(
                "a range without keys: give an end that is greater than the start",
            ));
        }
        Ok(())
    }
}

fn not_empty(Key(start): Key) -> Bytes {
    match start.is_empty() {
        true => Bytes::from_static(FIRST),
        false => start,
    }
}

impl<K: Into<Key>> From<K> for Keys {
    fn from(key: K) -> Self {
        Self::one(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(keys: &Keys) -> (&[u8], &[u8]) {
        (&keys.start, &keys.end)
    }

    #[test]
    fn prefix_ends_before_the_next_one() {
        for (prefix, end) in [
            (&b"/hd/"[..], &b"/hd0"[..]),
            (b"a", b"b"),
            (b"a\xff", b"b"),
            (b"a\xfe\xff\xff", b"a\xff"),
            (b"\xff\xff", NO_END),
        ] {
            assert_eq!(parts(&Keys::prefix(prefix)), (prefix, end));
        }
    }

    #[test]
    fn empty_prefix_is_every_key() {
        assert_eq!(parts(&Keys::prefix("")), (FIRST, NO_END));
        assert_eq!(Keys::range_from(""), Keys::prefix(""));
    }

    #[test]
    fn range_whose_end_is_not_greater_has_no_keys() {
        for (start, end, expected) in [
            ("b", "a", "b"),
            ("b", "b", "b"),
            ("b", "", "b"),
            ("b", "\0", "b"),
            ("", "", "\0\0"),
            ("", "\0", "\0\0"),
            ("\0", "\0", "\0\0"),
        ] {
            let keys = Keys::range(start, end);
            let expected = expected.as_bytes();
            assert_eq!(parts(&keys), (expected, expected), "{start:?} {end:?}");
            assert!(keys.check_watchable().is_err());
        }
        assert_eq!(parts(&Keys::range("", "b")), (FIRST, &b"b"[..]));
    }

    #[test]
    fn empty_key_is_not_watched() {
        assert!(Keys::one("").check_watchable().is_err());
        let all = [Keys::one("a"), Keys::prefix(""), Keys::range("a", "b")];
        for keys in all {
            assert!(keys.check_watchable().is_ok(), "{keys:?}");
        }
    }
}
