use std::{env, fs, path::PathBuf};

use super::*;

/// Longer than any content but the zeros.
const ENOUGH: usize = 1 << 20;

fn path(name: &str) -> PathBuf {
    let folder = "../hyper-delay/tests/fixtures/payloads";
    [env!("CARGO_MANIFEST_DIR"), folder, name].iter().collect()
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap()
}

fn codec(name: &str) -> Option<Codec> {
    Codec::of(&match name.ends_with(".lz4") {
        true => Compression::Lz4,
        false => Compression::Zstd,
    })
}

/// The fixtures that this build can decompress, with their codecs.
fn fixtures(names: &[&'static str]) -> Vec<(&'static str, Codec, Vec<u8>)> {
    let names = names.iter().copied();
    names
        .filter_map(|name| Some((name, codec(name)?, fixture(name))))
        .collect()
}

const FOREIGN: [&str; 4] = [
    "linked.lz4",
    "independent.lz4",
    "checked.zst",
    "streamed.zst",
];

#[test]
fn what_is_compressed_decompresses_to_the_same() {
    for name in ["rust.lz4", "rust.zst"] {
        let Some(codec) = codec(name) else { continue };
        for content in [fixture("text"), vec![7; 256], (0..=255).collect()] {
            let compressed = codec.compress(&content);
            let decompressed = codec.decompress(&compressed, content.len());
            assert!(decompressed.as_ref() == Ok(&content), "{name}");
        }
        let compressed = codec.compress(&fixture("text"));
        if env::var_os("HYPER_DELAY_WRITE_PAYLOADS").is_some() {
            fs::write(path(name), compressed).unwrap();
        }
    }
}

#[test]
fn payloads_of_every_program_are_decompressed() {
    let text = fixture("text");
    let clients = [
        "rust.lz4", "rust.zst", "go.lz4", "go.zst", "java.lz4", "java.zst",
    ];
    for (name, codec, payload) in fixtures(&[&FOREIGN[..], &clients].concat()) {
        assert!(
            codec.decompress(&payload, ENOUGH).as_ref() == Ok(&text),
            "{name}"
        );
    }
}

#[test]
fn a_payload_is_decompressed_up_to_the_limit() {
    let text = fixture("text");
    for (name, codec, payload) in fixtures(&FOREIGN) {
        assert!(codec.decompress(&payload, text.len()).is_ok(), "{name}");
        for limit in [0, 1, text.len() - 1] {
            let error = codec.decompress(&payload, limit).unwrap_err();
            let wanted = format!("longer than {limit} bytes: raise `max_payload_bytes`");
            assert!(error.ends_with(&wanted), "{name}: {error}");
        }
    }
    for (name, codec, payload) in fixtures(&["zeros.lz4", "zeros.zst"]) {
        let error = codec.decompress(&payload, ENOUGH).unwrap_err();
        assert!(error.contains("longer than "), "{name}: {error}");
    }
}

#[test]
fn a_payload_that_is_cut_or_followed_by_bytes_is_refused() {
    for (name, codec, mut payload) in fixtures(&FOREIGN) {
        for end in (0..payload.len()).step_by(61).chain([payload.len() - 1]) {
            let cut = codec.decompress(&payload[..end], ENOUGH);
            let error = cut.expect_err(name);
            assert!(
                error.contains("is not one whole "),
                "{name} cut at {end}: {error}"
            );
        }
        payload.push(0);
        let error = codec.decompress(&payload, ENOUGH).expect_err(name);
        assert!(error.ends_with("bytes follow the frame"), "{name}: {error}");
    }
}
