use std::{fs, path::Path};

use proptest::{collection::vec, prelude::*, sample::Index};

use super::*;
use crate::{Accept, Delivery};
use testkit::cases;

/// Longer than any fixture's content but the zeros.
const ENOUGH: usize = 1 << 20;

fn fixture(name: &str) -> Vec<u8> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../hyper-delay/tests/fixtures/payloads");
    fs::read(folder.join(name)).unwrap()
}

fn text() -> Vec<u8> {
    fixture("text")
}

/// The compression of a fixture.
fn of(name: &str) -> Compression {
    match name.ends_with(".lz4") {
        true => Compression::Lz4,
        false => Compression::Zstd,
    }
}

fn inflated(name: &str, payload: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
    inflate(of(name), payload, limit)
}

fn is_invalid(result: &Result<Vec<u8>, InflateError>) -> bool {
    matches!(result, Err(InflateError::Invalid { .. }))
}

/// By other programs than this workspace's clients.
const FOREIGN: [&str; 4] = [
    "linked.lz4",
    "independent.lz4",
    "checked.zst",
    "streamed.zst",
];

#[test]
fn payloads_of_every_program_are_decompressed() {
    let text = text();
    let clients = [
        "rust.lz4", "rust.zst", "go.lz4", "go.zst", "java.lz4", "java.zst",
    ];
    for name in FOREIGN.into_iter().chain(clients) {
        let inflated = inflated(name, &fixture(name), ENOUGH);
        assert!(inflated.as_ref() == Ok(&text), "{name}");
    }
}

/// The errors become reasons of dead letters, which must not have values of a payload.
#[test]
fn errors_have_nothing_of_the_payload() {
    // `HYPER_DELAY_FAULTS` asks for all.
    let step = match std::env::var_os("HYPER_DELAY_FAULTS") {
        Some(_) => 1,
        None => 7,
    };
    for name in FOREIGN {
        let payload = fixture(name);
        let errors = (0..payload.len().min(2_000))
            .step_by(step)
            .filter_map(|at| {
                let mut damaged = payload.clone();
                damaged[at] ^= 0x55;
                inflated(name, &damaged, ENOUGH).err()
            });
        let texts: std::collections::BTreeSet<_> = errors
            .map(|error| error.to_string().replace("lz4", ""))
            .collect();
        assert!(texts.len() > 1, "{name}: {texts:?}");
        for text in texts {
            assert!(!text.contains(|sign: char| sign.is_ascii_digit()), "{text}");
        }
    }
}

#[test]
fn the_limit_is_exact() {
    let text = text();
    for name in FOREIGN {
        let (payload, compression) = (fixture(name), of(name));
        let whole = inflated(name, &payload, text.len());
        assert!(whole.as_ref() == Ok(&text), "{name}");
        for limit in [0, 1, text.len() / 2, text.len() - 1] {
            let error = InflateError::TooLong { compression, limit };
            assert_eq!(inflated(name, &payload, limit), Err(error), "{name}");
        }
    }
}

#[test]
fn decompression_stops_at_the_limit() {
    for name in ["zeros.lz4", "zeros.zst"] {
        let (payload, compression) = (fixture(name), of(name));
        let limit = 48_000;
        let error = InflateError::TooLong { compression, limit };
        assert_eq!(inflated(name, &payload, limit), Err(error), "{name}");
    }
}

#[test]
fn a_payload_that_is_cut_or_followed_by_bytes_is_invalid() {
    for name in FOREIGN {
        let mut payload = fixture(name);
        for end in (0..payload.len()).step_by(61) {
            let cut = inflated(name, &payload[..end], ENOUGH);
            assert!(is_invalid(&cut), "{name} cut at {end}");
        }
        let end = payload.len() - 1;
        assert!(is_invalid(&inflated(name, &payload[..end], ENOUGH)));
        payload.push(0);
        assert!(is_invalid(&inflated(name, &payload, ENOUGH)), "{name}");
    }
}

#[test]
fn a_checksum_finds_every_changed_bit() {
    for name in ["linked.lz4", "independent.lz4", "checked.zst"] {
        let (payload, text) = (fixture(name), text());
        for at in (0..payload.len()).step_by(53) {
            let mut changed = payload.clone();
            changed[at] ^= 1 << (at % 8);
            // A bit of a header can be one that changes nothing.
            let result = inflated(name, &changed, ENOUGH);
            let is_found = result.as_ref().map_or(true, |content| *content == text);
            assert!(is_found, "{name} changed at {at}");
        }
    }
}

#[test]
fn an_error_names_the_compression_and_the_cure() {
    let invalid = inflate(Compression::Lz4, b"", ENOUGH).unwrap_err();
    let message = "the payload is not one whole lz4 frame: it is cut short";
    assert_eq!(invalid.to_string(), message);
    let invalid = inflate(Compression::Zstd, b"hello", ENOUGH).unwrap_err();
    let message = invalid.to_string();
    assert!(
        message.starts_with("the payload is not one whole zstd frame: "),
        "{message}"
    );
    let long = inflate(Compression::Zstd, &fixture("checked.zst"), 7).unwrap_err();
    let message = "the zstd payload, decompressed, does not fit into a delivery: accept zstd, or \
        raise max_line_bytes";
    assert_eq!(long.to_string(), message);
}

#[test]
fn frames_that_need_a_dictionary_are_invalid() {
    let mut lz4 = fixture("linked.lz4");
    lz4[4] |= 1;
    let error = inflate(Compression::Lz4, &lz4, ENOUGH).unwrap_err();
    assert!(
        error.to_string().ends_with("it needs a dictionary"),
        "{error}"
    );
    // Magic number, a one-byte id in one segment, the id, the length, an empty last block.
    let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 0, 1, 0, 0];
    let result = inflate(Compression::Zstd, &zstd, ENOUGH);
    assert!(is_invalid(&result), "{result:?}");
}

#[test]
fn a_delivery_is_inflated_only_for_a_consumer_that_does_not_accept_it() {
    let payload = fixture("checked.zst");
    let delivery = Delivery {
        id: "a",
        route: "r",
        fire_at: 5,
        due: None,
        compression: Compression::Zstd,
        payload: &payload,
        attempt: 1,
        headers: "",
    };
    let text = text();
    let plain = Delivery {
        compression: Compression::None,
        payload: &text,
        ..delivery.clone()
    };
    let lines = |accept, max_line| {
        let mut out = b"before\n".to_vec();
        encode(&delivery, accept, max_line, &mut out).map(|()| out)
    };
    let line = |delivery: &Delivery<'_>| {
        let mut out = b"before\n".to_vec();
        delivery.encode(&mut out);
        out
    };
    let accepted = Accept::only(&[Compression::Zstd]);
    assert_eq!(lines(accepted, 0).unwrap(), line(&delivery));
    let other = Accept::only(&[Compression::Lz4]);
    // The shortest line that is long enough, which has room for two bytes more at most.
    let longest = plain.longest();
    assert_eq!(lines(other, longest).unwrap(), line(&plain));
    assert!(lines(other, longest - 4).is_err());
}

#[test]
fn a_due_time_is_left_out_if_the_line_has_no_room_for_it() {
    let payload = fixture("checked.zst");
    let text = text();
    let stored = Delivery {
        id: "a",
        route: "r",
        fire_at: 5,
        due: Some(1_732_616_400_000),
        compression: Compression::Zstd,
        payload: &payload,
        attempt: 1,
        headers: "",
    };
    let inflated = Delivery {
        compression: Compression::None,
        payload: &text,
        ..stored.clone()
    };
    let accepted = Accept::only(&[Compression::Zstd]);
    for (accept, whole) in [(accepted, &stored), (Accept::only(&[]), &inflated)] {
        let longest = whole.longest();
        for (max_line, due) in [(longest, whole.due), (longest - 1, None)] {
            let mut out = Vec::new();
            encode(&stored, accept, max_line, &mut out).unwrap();
            let mut expected = Vec::new();
            let whole = Delivery {
                due,
                ..whole.clone()
            };
            whole.encode(&mut expected);
            assert_eq!(out, expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn whatever_a_payload_contains_the_limit_holds(
        name in prop::sample::select(&FOREIGN[..]),
        changes in vec((any::<Index>(), any::<u8>()), 0..4),
        noise in vec(any::<u8>(), 0..40),
        limit in 0..ENOUGH,
    ) {
        let mut payload = fixture(name);
        for (at, byte) in changes {
            let at = at.index(payload.len());
            payload[at] = byte;
        }
        for payload in [payload, noise] {
            if let Ok(content) = inflated(name, &payload, limit) {
                prop_assert!(content.len() <= limit);
            }
        }
    }
}
