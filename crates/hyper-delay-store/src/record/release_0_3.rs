//! The bytes of release 0.3. A record that uses nothing newer has the same ones, so a server of that
//! release reads it, and nodes of both releases write the same entries.

use super::{
    Digest, ExpiryEntry, FinishedTask, Name, Place, Record, StoredCounts, Task, TaskEntry, decode,
    decode_dead, encode, encode_dead, key,
};
use hyper_delay_protocol::{Compression, Terms};

const FIRE_AT: u64 = 1_700_000_000_000;

const EXPIRES_AT: u64 = 1_900_000_000_000;

const DIGEST: Digest = *b"0123456789abcdef";

const HEADERS: &str = r#"{"a":"b"}"#;

fn terms() -> Option<Box<Terms>> {
    Some(Box::new(Terms {
        expires_at: Some(EXPIRES_AT),
        max_attempts: Some(3),
        retry_delay_ms: Some(500),
        ..Terms::default()
    }))
}

fn name(place: Place, terms: Option<Box<Terms>>) -> Name {
    Name {
        seq: 300,
        fire_at: FIRE_AT,
        place,
        attempt: 7,
        failures: 2,
        digest: DIGEST,
        bytes: 5,
        terms,
        failure: None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    let pairs = pairs.map(|pair| str::from_utf8(pair).unwrap());
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

/// Checks that a record has these bytes, and that it is read from them.
#[track_caller]
fn same<R: for<'a> Record<'a> + PartialEq + std::fmt::Debug>(record: &R, older: &str) {
    assert_eq!(hex(&encode(record)), older);
    assert_eq!(&decode::<R>(&bytes(older)).unwrap(), record);
}

#[test]
fn states_have_the_bytes_of_0_3() {
    same(
        &name(Place::Waiting(FIRE_AT + 500), None),
        "01ac0280d095ffbc3100f4d395ffbc3107023031323334353637383961626364656605",
    );
    same(
        &name(Place::Parked(FIRE_AT), terms()),
        "02ac0280d095ffbc310180d095ffbc3107023031323334353637383961626364656605\
         010180f0cc86a63700010301f40300",
    );
    same(
        &name(Place::Dead(FIRE_AT + 9_000), None),
        "01ac0280d095ffbc3102a89696ffbc3107023031323334353637383961626364656605",
    );
}

#[test]
fn entries_have_the_bytes_of_0_3() {
    for (terms, older) in [
        (None, "01066f7264657273086f726465722d31370702"),
        (
            terms(),
            "02066f7264657273086f726465722d31370702010180f0cc86a63700010301f40300",
        ),
    ] {
        let name = name(Place::Waiting(FIRE_AT), terms);
        let entry = TaskEntry::of("orders", "order-17", &name);
        assert_eq!(hex(&encode(&entry)), older);
        assert_eq!(decode::<TaskEntry<'_>>(&bytes(older)).unwrap(), entry);
        let dead = format!("{older}6e6f206469736b");
        assert_eq!(hex(&encode_dead(&entry, "no disk")), dead);
        let read = (entry, Some("no disk"));
        assert_eq!(decode_dead(&bytes(&dead)).unwrap(), read);
    }
}

#[test]
fn contents_have_the_bytes_and_digests_of_0_3() {
    for (headers, terms, older, digest) in [
        (
            "",
            None,
            "0180d095ffbc31010568656c6c6f",
            "3013f71d8e49f0a47abc9ec20bd085fa",
        ),
        (
            HEADERS,
            None,
            "0280d095ffbc31010568656c6c6f007b2261223a2262227d",
            "3013f71d8e49f0a47abc9ec20bd085fa",
        ),
        (
            HEADERS,
            terms(),
            "0280d095ffbc31010568656c6c6f010180f0cc86a63700010301f403007b2261223a2262227d",
            "c66dec85f171a897bf1a6a0a5c0b74e8",
        ),
    ] {
        let task = Task {
            fire_at: FIRE_AT,
            compression: Compression::Lz4,
            payload: b"hello",
            terms,
            headers,
            delay_ms: None,
        };
        assert_eq!(hex(&encode(&task)), older);
        assert_eq!(decode::<Task<'_>>(&bytes(older)).unwrap(), task);
        assert_eq!(hex(&task.digest()), digest);
    }
}

#[test]
fn other_rows_of_tasks_have_the_bytes_of_0_3() {
    let counts = StoredCounts {
        waiting: 1,
        parked: 200,
        dead: 3,
        bytes: 70_000,
    };
    same(&counts, "0101c80103f0a204");
    let finished = FinishedTask {
        until: FIRE_AT,
        attempt: 7,
        digest: DIGEST,
    };
    same(
        &finished,
        "0180d095ffbc310730313233343536373839616263646566",
    );
    let expiry = ExpiryEntry {
        route: "orders",
        id: "order-17",
    };
    assert_eq!(hex(&encode(&expiry)), "01066f7264657273086f726465722d3137");
}

#[test]
fn keys_have_the_bytes_of_0_3() {
    for (key, older) in [
        (
            key::name("orders", "order-17").to_vec(),
            "066f72646572736f726465722d3137",
        ),
        (
            key::route_time("orders", FIRE_AT, 300).to_vec(),
            "066f72646572730000018bcfe56800000000000000012c",
        ),
        (
            key::expiry(EXPIRES_AT, 300),
            "6578706972792f000001ba60d33800000000000000012c",
        ),
    ] {
        assert_eq!(hex(&key), older);
    }
}
