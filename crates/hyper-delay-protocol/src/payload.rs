//! Payloads in base64 with the standard alphabet. Encoding pads; decoding accepts both forms.

use base64::{
    DecodeError, DecodeSliceError, Engine as _,
    alphabet::STANDARD,
    encoded_len,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decodes a payload.
///
/// # Errors
///
/// The text is not base64; the error says where.
pub(super) fn decode(text: &str) -> Result<Box<[u8]>, String> {
    let digits = text.trim_end_matches('=').len();
    // The exact size, so that boxing does not allocate again.
    let mut payload = vec![0; digits * 3 / 4];
    match BASE64.decode_slice(text, &mut payload) {
        Ok(length) => {
            payload.truncate(length);
            Ok(payload.into_boxed_slice())
        }
        Err(DecodeSliceError::DecodeError(error)) => Err(describe_error(text, error)),
        // The buffer holds what the digits before the padding decode to, so the rest is padding.
        Err(DecodeSliceError::OutputSliceTooSmall) => {
            Err("which has more padding than base64 has".to_owned())
        }
    }
}

fn describe_error(text: &str, error: DecodeError) -> String {
    let character = |at| text.get(at..).and_then(|rest| rest.chars().next());
    match error {
        DecodeError::InvalidByte(at, _) => match character(at) {
            Some(found) => format!("which has the character {found:?} at {at}"),
            None => format!("which has another character at {at}"),
        },
        DecodeError::InvalidLength(length) => format!("whose length {length} no base64 has"),
        DecodeError::InvalidLastSymbol(at, _) => format!(
            "whose last character, {:?} at {at}, has bits that belong to no byte",
            character(at).unwrap_or_default()
        ),
        DecodeError::InvalidPadding => "which is padded in its middle".to_owned(),
    }
}

/// Appends the payload in base64 to `out`, without another copy.
pub(crate) fn encode(payload: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + length(payload), 0);
    let written = BASE64.encode_slice(payload, &mut out[start..]);
    debug_assert_eq!(written, Ok(length(payload)));
}

/// The number of bytes that [`encode`] appends.
pub(super) fn length(payload: &[u8]) -> usize {
    encoded_len(payload.len(), true)
        .expect("a payload in memory is far shorter than the address space")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_optional() {
        for (text, payload) in [
            ("", ""),
            ("aA", "h"),
            ("aA=", "h"),
            ("aA==", "h"),
            ("aGU", "he"),
            ("aGU=", "he"),
            ("aGVs", "hel"),
            ("aGVsbG8=", "hello"),
            ("aGVsbG8", "hello"),
        ] {
            assert_eq!(decode(text).as_deref(), Ok(payload.as_bytes()), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "a", "=", "====", "aA===", "a-_a", "aGU*", " aGVs", "aGVs\n", "aB==", "aGVs====", "é",
        ] {
            assert!(decode(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_length_is_exact() {
        for bytes in 0..20 {
            let payload = vec![0xa5; bytes];
            let mut out = b"before".to_vec();
            encode(&payload, &mut out);
            assert_eq!(out.len(), 6 + length(&payload));
            let text = std::str::from_utf8(&out[6..]).unwrap();
            assert_eq!(decode(text).as_deref(), Ok(&payload[..]));
        }
    }
}
