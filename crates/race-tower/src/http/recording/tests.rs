use bytes::Bytes;
use http::{HeaderMap, HeaderValue};

use super::{Recording, TooLong};

#[test]
fn memory_of_many_small_chunks_is_within_the_limit() {
    let mut recording = Recording::new(1000);
    for byte in 0..1000_u32 {
        let chunk = Bytes::from(vec![byte as u8]);
        assert_eq!(recording.push(&chunk), Ok(()));
        assert_eq!(recording.push(&Bytes::new()), Ok(()), "no bytes fit always");
        assert!(recording.head.len() + recording.tail.capacity() <= 1000);
    }
    assert_eq!(recording.push(&Bytes::from_static(b"x")), Err(TooLong));
    let expected: Vec<u8> = (0..1000_u32).map(|byte| byte as u8).collect();
    assert_eq!(recording.data(), expected);
}

#[test]
fn single_chunk_is_shared() {
    let mut recording = Recording::new(10);
    let chunk = Bytes::from(b"chunk".to_vec());
    recording.push(&chunk).expect("it fits");
    assert_eq!(recording.data().as_ptr(), chunk.as_ptr());
}

#[test]
fn data_taken_in_between_stays_as_it_was() {
    let mut recording = Recording::new(10);
    let chunks = ["ab", "c", "", "def"].map(|chunk| Bytes::from_static(chunk.as_bytes()));
    let mut taken = Vec::new();
    for chunk in &chunks {
        recording.push(chunk).expect("it fits");
        taken.push(recording.data());
    }
    assert_eq!(taken, ["ab", "abc", "abc", "abcdef"]);
}

#[test]
fn trailers_count_by_their_bytes() {
    let mut trailers = HeaderMap::new();
    trailers.insert("name", HeaderValue::from_static("value"));
    let mut recording = Recording::new(10);
    recording.push(&Bytes::from_static(b"x")).expect("it fits");
    assert_eq!(recording.set_trailers(&trailers), Ok(()), "1 + 4 + 5 bytes");
    let mut recording = Recording::new(9);
    recording.push(&Bytes::from_static(b"x")).expect("it fits");
    assert_eq!(recording.set_trailers(&trailers), Err(TooLong));
    assert_eq!(recording.trailers(), None);
}
