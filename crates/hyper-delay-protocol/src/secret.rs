//! Tokens as their holders send them.

use std::{fmt, io};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The first characters of every secret, by which people and scanners recognize it.
const PREFIX: &str = "hd_";

/// The number of random bytes: 256 bits.
const RANDOM: usize = 32;

/// The number of random bytes of an id.
const ID: usize = 6;

/// A token as its holder sends it: `hd_`, the id of the token, `_` and 256 random bits.
///
/// It is shown once, when it is made; the server keeps its hash.
#[derive(Clone)]
pub struct Secret {
    id: String,
    random: [u8; RANDOM],
}

/// The SHA-256 of the random bytes of a secret.
///
/// A plain hash is enough for 256 random bits; it need not be slow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SecretHash([u8; 32]);

impl Secret {
    /// Makes a secret with an id of its own.
    ///
    /// # Errors
    ///
    /// If the operating system has no random bytes.
    pub fn random() -> io::Result<Self> {
        let mut id = [0; ID];
        let mut random = [0; RANDOM];
        for bytes in [&mut id[..], &mut random] {
            getrandom::fill(bytes).map_err(io::Error::other)?;
        }
        Ok(Self {
            id: hex(&id),
            random,
        })
    }

    /// Reads a secret. Returns `None` if the text is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (id, random) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let is_id = id.len() == 2 * ID && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let random = BASE64_URL_SAFE_NO_PAD.decode(random).ok()?;
        Some(Self {
            id: is_id.then(|| id.to_ascii_lowercase())?,
            random: random.try_into().ok()?,
        })
    }

    /// Returns the id of the token, which is not secret.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the text that its holder sends.
    #[must_use]
    pub fn reveal(&self) -> String {
        let random = BASE64_URL_SAFE_NO_PAD.encode(self.random);
        format!("{PREFIX}{}_{random}", self.id)
    }

    pub(crate) fn hash(&self) -> SecretHash {
        SecretHash(Sha256::digest(self.random).into())
    }
}

/// Shows the id only.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The time does not depend on where the random bytes differ.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && bool::from(self.random.ct_eq(&other.random))
    }
}

impl Eq for Secret {}

/// The time does not depend on where the hashes differ.
impl PartialEq for SecretHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SecretHash {}

impl SecretHash {
    pub(crate) fn to_hex(self) -> String {
        hex(&self.0)
    }

    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_read_as_it_was_shown() {
        let secret = Secret::random().unwrap();
        let text = secret.reveal();
        assert_eq!(Secret::parse(&text), Some(secret.clone()));
        assert_eq!(text.len(), 3 + 12 + 1 + 43);
        assert!(!format!("{secret:?}").contains(&text[16..]), "{secret:?}");
    }

    #[test]
    fn two_secrets_differ() {
        let [one, other] = [(); 2].map(|()| Secret::random().unwrap());
        assert_ne!(one.id(), other.id());
        assert_ne!(one, other);
        assert_ne!(one.hash(), other.hash());
        assert_eq!(one.hash(), one.clone().hash());
    }

    #[test]
    fn every_byte_and_the_id_count_in_a_comparison() {
        let secret = Secret::random().unwrap();
        for byte in 0..RANDOM {
            let mut other = secret.clone();
            other.random[byte] ^= 1;
            assert_ne!(secret, other, "{byte}");
            let mut hash = secret.hash();
            hash.0[byte] ^= 0x80;
            assert_ne!(secret.hash(), hash, "{byte}");
        }
        let other = Secret {
            id: "0".repeat(2 * ID),
            ..secret.clone()
        };
        assert_ne!(secret, other);
    }

    /// A derived comparison ends at the first byte that differs.
    #[test]
    fn no_comparison_is_derived() {
        let source = include_str!("secret.rs");
        let (source, _) = source.split_once("#[cfg(test)]").unwrap();
        let mut derives = source.lines().filter(|line| line.contains("derive("));
        assert!(derives.all(|line| !line.contains("PartialEq")));
        assert_eq!(source.matches(".ct_eq(").count(), 2);
    }

    #[test]
    fn other_texts_are_no_secrets() {
        let text = Secret::random().unwrap().reveal();
        let cut = &text[..text.len() - 1];
        let longer = format!("{text}A");
        let padded = format!("{text}=");
        for wrong in [
            "",
            "hd_",
            "hd__",
            "secret",
            cut,
            &longer,
            &padded,
            &text[1..],
        ] {
            assert_eq!(Secret::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Secret::parse(&text.replacen("hd_", "hd_zz", 1)), None);
    }

    #[test]
    fn hash_is_written_and_read_in_hexadecimal() {
        let hash = Secret::random().unwrap().hash();
        assert_eq!(SecretHash::from_hex(&hash.to_hex()), Some(hash));
        let wrong = [
            "",
            "00",
            &"0".repeat(63),
            &"0".repeat(65),
            &"g".repeat(64),
            &"é".repeat(32),
        ];
        for text in wrong {
            assert_eq!(SecretHash::from_hex(text), None, "{text}");
        }
    }
}
