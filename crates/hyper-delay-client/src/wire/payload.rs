//! Payloads in base64, with the standard alphabet.

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine, alphabet};

/// Encodes with padding, decodes with or without it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Appends `payload` in base64 to `line`.
pub(super) fn encode(payload: &[u8], line: &mut Vec<u8>) {
    let start = line.len();
    line.resize(start + payload.len().div_ceil(3) * 4, 0);
    BASE64
        .encode_slice(payload, &mut line[start..])
        .expect("four bytes for every three");
}

pub(crate) fn decode(text: &str) -> Result<Vec<u8>, DecodeError> {
    BASE64.decode(text)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn what_is_encoded_decodes_to_the_same() {
        for payload in [&b""[..], b"a", b"ab", b"abc", &[0xff; 100]] {
            let mut line = b"before ".to_vec();
            encode(payload, &mut line);
            let text = String::from_utf8(line).unwrap();
            assert_eq!(
                decode(text.strip_prefix("before ").unwrap()).unwrap(),
                payload
            );
        }
    }

    #[test]
    fn padding_may_be_missing() {
        assert_eq!(decode("aGVsbG8=").unwrap(), b"hello");
        assert_eq!(decode("aGVsbG8").unwrap(), b"hello");
        assert!(decode("!").is_err());
    }
}
