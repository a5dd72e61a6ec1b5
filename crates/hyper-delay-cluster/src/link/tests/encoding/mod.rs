//! The encoding of messages on links.

mod random;

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};
use xxhash_rust::xxh3::Xxh3;

use self::random::Random;
use crate::{
    forward::wire::{ToLeader, ToServing},
    link::{
        frame::{self, Frame},
        handshake,
    },
};
use hyper_delay_protocol::Reply;

fn encoded<T: Serialize>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    frame::append(value, &mut out).unwrap();
    out.split_off(4)
}

/// Encodes and decodes random messages. Returns how often each variant of each enum was drawn.
fn round_trips<M: Serialize + DeserializeOwned + std::fmt::Debug>(
    seed: u64,
    number: usize,
) -> BTreeMap<String, usize> {
    let mut random = Random::new(seed);
    for _ in 0..number {
        let frame: Frame<M> = random.draw();
        let bytes = encoded(&frame);
        let decoded: Frame<M> = frame::decode(&bytes).unwrap();
        assert_eq!(format!("{decoded:?}"), format!("{frame:?}"));
        assert_eq!(encoded(&decoded), bytes);
    }
    random.into_drawn()
}

#[test]
fn every_variant_of_every_message_arrives_as_it_was_sent() {
    let mut drawn = BTreeMap::<_, usize>::new();
    for (variant, times) in [
        round_trips::<ToLeader>(1, 20_000),
        round_trips::<ToServing>(2, 20_000),
        round_trips::<Reply>(4, 20_000),
    ]
    .into_iter()
    .flatten()
    {
        *drawn.entry(variant).or_default() += times;
    }
    let never: Vec<_> = drawn.iter().filter(|(_, times)| **times == 0).collect();
    assert!(never.is_empty(), "{never:?}");
    for expected in [
        "WireRequest::Bulk",
        "Reply::Job",
        "UnsentReason::Gone",
        "SocketAddr::V6",
        "JobWord::RescheduleAll",
        "BulkMoveTo::Later",
    ] {
        assert!(
            drawn.contains_key(expected),
            "{expected}: {:?}",
            drawn.keys()
        );
    }
}

#[test]
fn damaged_bytes_are_an_error_or_another_message() {
    fn check<M: Serialize + DeserializeOwned>(random: &mut Random) {
        let mut bytes = encoded(&random.draw::<Frame<M>>());
        let length = bytes.len();
        assert!(frame::decode::<Frame<M>>(&bytes[..length - 1]).is_err());
        let numbers = random.numbers();
        for _ in 0..=numbers.usize(0..3) {
            let place = numbers.usize(0..length);
            bytes[place] = numbers.u8(..);
        }
        if numbers.bool() {
            bytes.truncate(numbers.usize(0..length));
        }
        // Some damage cannot be seen; none may panic or take much memory.
        let _ = frame::decode::<Frame<M>>(&bytes);
        let garbage: Vec<u8> = (0..numbers.usize(0..40)).map(|_| numbers.u8(..)).collect();
        let _ = frame::decode::<Frame<M>>(&garbage);
    }
    let mut random = Random::new(3);
    for _ in 0..20_000 {
        check::<ToLeader>(&mut random);
        check::<ToServing>(&mut random);
    }
}

/// If this fails, a node of the last release cannot be linked to one of this release: raise
/// [`handshake::FORMAT`], then write down the new number.
///
/// A draw that a type refuses is drawn again, so the number also changes if a type refuses more or
/// fewer messages with the same bytes. `forward/wire/tests.rs` has the bytes of each request.
#[test]
fn messages_have_the_bytes_of_their_version() {
    let mut hasher = Xxh3::new();
    let mut random = Random::new(4);
    for _ in 0..20_000 {
        hasher.update(&encoded(&random.draw::<Frame<ToLeader>>()));
        hasher.update(&encoded(&random.draw::<Frame<ToServing>>()));
    }
    assert_eq!(
        (handshake::FORMAT, hasher.digest()),
        (4, 8_756_653_479_334_808_969)
    );
}
