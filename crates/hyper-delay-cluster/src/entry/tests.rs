//! Entries of journals.

use super::*;
use hyper_delay_store::Bytes;

const HEADER: EntryHeader = EntryHeader {
    cluster: 7 << 100,
    shard: ShardId(3),
    seq: 12,
    epoch: 99,
    nonce: u64::MAX,
    previous: 5,
    offset: 4096,
    now: 1_700_000_000_000,
    counted: (0, 0),
    clears: None,
};

type Rows = Vec<(Space, Bytes, Option<Bytes>)>;

fn batch() -> Batch {
    let mut batch = Batch::new();
    batch.put(Space::Names, *b"b", *b"\x011");
    batch.put(Space::Names, *b"b", *b"\x012");
    batch.put(Space::Tasks, *b"key", vec![1; 10_000]);
    batch.put(Space::Meta, *b"empty", *b"");
    batch.remove(Space::Waiting, *b"gone");
    batch.count_schedule();
    batch.count_removal();
    batch.count_removal();
    batch
}

#[test]
fn writes_are_read_as_they_were_encoded() {
    let encoded = EntryChange::Writes(batch()).encode(HEADER);
    assert!(encoded.bytes.len() < 400, "compressed");
    assert_eq!(encoded.hash, hash(&encoded.bytes));
    let (read, EntryChange::Writes(change)) = decode(&encoded.bytes).unwrap() else {
        panic!("it clears a space");
    };
    let counted = (1, 2);
    assert_eq!(read, EntryHeader { counted, ..HEADER });
    assert_eq!(header(&encoded.bytes).unwrap(), read);
    assert_eq!(change.counted(), counted);
    let rows: Rows = change.into_writes().collect();
    assert_eq!(rows, batch().into_writes().collect::<Rows>());
}

#[test]
fn a_clear_is_read_as_it_was_encoded() {
    for space in Space::ALL {
        let encoded = EntryChange::Clear(space).encode(HEADER);
        let (header, change) = decode(&encoded.bytes).unwrap();
        assert_eq!(header.clears, Some(space as u8));
        assert!(matches!(change, EntryChange::Clear(read) if read == space));
    }
}

#[test]
fn an_empty_batch_is_an_entry() {
    let encoded = EntryChange::Writes(Batch::new()).encode(HEADER);
    let (read, EntryChange::Writes(batch)) = decode(&encoded.bytes).unwrap() else {
        panic!("it clears a space");
    };
    assert_eq!(read, HEADER);
    assert!(batch.is_empty());
}

#[test]
fn no_damage_passes_and_none_panics() {
    let encoded = EntryChange::Writes(batch()).encode(HEADER).bytes;
    for cut in 0..encoded.len() {
        decode(&encoded[..cut]).unwrap_err();
    }
    for index in 0..encoded.len() {
        let mut damaged = encoded.clone();
        damaged[index] ^= 1 << (index % 8);
        decode(&damaged).unwrap_err();
    }
}

#[test]
fn an_entry_has_version_2_only_with_a_record_of_version_3() {
    let mut content = record::Task {
        fire_at: 7,
        compression: hyper_delay_protocol::Compression::None,
        payload: b"hello",
        terms: None,
        headers: r#"{"a":"b"}"#,
        delay_ms: None,
    };
    for (delay_ms, version) in [(None, PLAIN), (Some(5), VERSION)] {
        content.delay_ms = delay_ms;
        let mut batch = batch();
        batch.put(Space::Tasks, *b"content", record::encode(&content));
        let encoded = EntryChange::Writes(batch).encode(HEADER).bytes;
        assert_eq!(encoded[0], version);
        let (_, EntryChange::Writes(read)) = decode(&encoded).unwrap() else {
            panic!("it clears a space");
        };
        let written = record::encode(&content);
        assert!(
            read.into_writes()
                .any(|(_, _, value)| value == Some(written.clone()))
        );
    }
}

/// If a later `lz4_flex` compresses the first body in another way, compare the rows.
#[test]
fn an_entry_with_nothing_new_has_the_bytes_of_0_3() {
    let mut batch = Batch::new();
    batch.put(Space::Names, *b"\x06ordersorder-17", *b"\x01\xac\x02\x80");
    batch.remove(Space::Waiting, *b"gone");
    batch.count_schedule();
    batch.count_removal();
    batch.count_removal();
    for (mut change, older, expected) in [
        (
            EntryChange::Writes(batch),
            "012880808080808080808080808080801c030c63ffffffffffffffffff0105802080d095ffbc31\
             01020023000000b101000f00066f72646572730600f0042d31370400000001ac02800201040067\
             6f6e655abe28136dbc67ba",
            0xf247_79e4_a64b_3509_677f_f168_fc13_e26e,
        ),
        (
            EntryChange::Clear(Space::DoneOdd),
            "012980808080808080808080808080801c030c63ffffffffffffffffff0105802080d095ffbc31\
             00000106000000000099a5200caa4372ea",
            0x7f87_d95b_c963_f72e_1d8d_122e_e42b_84f4,
        ),
    ] {
        let encoded = change.encode(HEADER);
        let bytes = encoded.bytes.iter().map(|byte| format!("{byte:02x}"));
        assert_eq!(bytes.collect::<String>(), older);
        assert_eq!(encoded.hash, expected);
    }
}

#[test]
fn an_entry_of_a_newer_server_says_what_to_do() {
    let mut encoded = EntryChange::Clear(Space::DoneOdd).encode(HEADER).bytes;
    encoded[0] = VERSION + 1;
    let error = decode(&encoded).unwrap_err().to_string();
    assert_eq!(
        error,
        "its version is 3, and this server reads 2: upgrade this node"
    );
}
