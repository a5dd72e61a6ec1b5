use bytes::Bytes;

/// One key, or the beginning of some. etcd accepts no empty key.
///
/// `Bytes`, `Vec<u8>` and `String` become a key without a copy. Slices and `&str` are copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(pub(crate) Bytes);

impl From<Bytes> for Key {
    fn from(key: Bytes) -> Self {
        Self(key)
    }
}

impl From<Vec<u8>> for Key {
    fn from(key: Vec<u8>) -> Self {
        Self(key.into())
    }
}

impl From<String> for Key {
    fn from(key: String) -> Self {
        Self(key.into())
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Self {
        key.as_bytes().into()
    }
}

impl From<&[u8]> for Key {
    fn from(key: &[u8]) -> Self {
        Self(Bytes::copy_from_slice(key))
    }
}

impl<const N: usize> From<&[u8; N]> for Key {
    fn from(key: &[u8; N]) -> Self {
        key[..].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Compare, Keys, Put, Relation};

    #[test]
    fn text_and_bytes_are_keys() {
        let text = String::from("a");
        let expected = Key(Bytes::from_static(b"a"));
        for key in [
            Key::from(&*text),
            Key::from(text.clone()),
            Key::from(text.as_bytes()),
            Key::from(b"a"),
            Key::from(b"a".to_vec()),
            Key::from(Bytes::from_static(b"a")),
        ] {
            assert_eq!(key, expected);
            assert_eq!(Keys::from(key), Keys::one("a"));
        }
    }

    #[test]
    fn every_constructor_takes_text_that_is_not_static() {
        let text = String::from("a");
        let text = &*text;
        assert_eq!(Put::new(text, ""), Put::new("a", ""));
        assert_eq!(Put::touch(text), Put::touch("a"));
        assert_eq!(Compare::present(text), Compare::present("a"));
        assert_eq!(Compare::absent(text), Compare::absent(b"a".to_vec()));
        let compare = Compare::value(Bytes::from_static(b"a"), Relation::Equal, "");
        assert_eq!(Compare::value(text, Relation::Equal, ""), compare);
        assert_eq!(Keys::one(text), Keys::from(b"a"));
        assert_eq!(Keys::prefix(text), Keys::range(text, "b"));
    }

    #[test]
    fn owned_bytes_are_not_copied() {
        let key = Bytes::from(vec![b'k'; 100]);
        let address = key.as_ptr();
        assert_eq!(Key::from(key.clone()).0.as_ptr(), address);
        assert_eq!(Keys::from(key.clone()).start.as_ptr(), address);
        assert_eq!(Keys::range(key, "l").start.as_ptr(), address);
    }
}
