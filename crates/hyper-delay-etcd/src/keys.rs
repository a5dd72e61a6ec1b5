use bytes::Bytes;

/// The keys that a request is about: one, a prefix, or a range.
///
/// A `&str` or a `String` stands for one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    pub(crate) start: Bytes,
    /// The first key after a range. Empty: `start` is the only key.
    pub(crate) end: Bytes,
}

/// As the end of a range: there is none.
const NO_END: &[u8] = b"\0";

impl Keys {
    /// One key.
    #[must_use]
    pub fn one(key: impl Into<Bytes>) -> Self {
        Self {
            start: key.into(),
            end: Bytes::new(),
        }
    }

    /// All keys that start with `prefix`. An empty prefix: all keys.
    #[must_use]
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let start: Bytes = prefix.into();
        if start.is_empty() {
            // etcd refuses an empty key. No key is less than this one.
            return Self::range(NO_END, NO_END);
        }
        // The first key after those with the prefix: its last byte that can grow has grown.
        let end = match start.iter().rposition(|&byte| byte < u8::MAX) {
            Some(last) => {
                let mut end = start[..=last].to_vec();
                end[last] += 1;
                end.into()
            }
            None => Bytes::from_static(NO_END),
        };
        Self { start, end }
    }

    /// All keys from `start` on that are less than `end`.
    #[must_use]
    pub fn range(start: impl Into<Bytes>, end: impl Into<Bytes>) -> Self {
        Self {
            start: start.into(),
            end: end.into(),
        }
    }
}

impl From<&str> for Keys {
    fn from(key: &str) -> Self {
        Self::one(Bytes::copy_from_slice(key.as_bytes()))
    }
}

impl From<String> for Keys {
    fn from(key: String) -> Self {
        Self::one(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_ends_before_the_next_one() {
        for (prefix, end) in [
            (&b"/hd/"[..], &b"/hd0"[..]),
            (b"a", b"b"),
            (b"a\xff", b"b"),
            (b"a\xfe\xff\xff", b"a\xff"),
            (b"\xff\xff", NO_END),
        ] {
            let keys = Keys::prefix(Bytes::from_static(prefix));
            assert_eq!((&*keys.start, &*keys.end), (prefix, end));
        }
    }

    #[test]
    fn empty_prefix_is_every_key() {
        assert_eq!(Keys::prefix(""), Keys::range(NO_END, NO_END));
    }

    #[test]
    fn text_is_one_key() {
        assert_eq!(Keys::from("a"), Keys::one("a"));
        assert_eq!(Keys::from("a".to_owned()), Keys::one("a"));
    }
}
