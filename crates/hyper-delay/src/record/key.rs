//! Keys: numbers are big-endian, so that they sort as numbers do; a route has its length before
//! it, so that no route is the beginning of another's keys.

use crate::store::{Bytes, StoreError};

/// The key in `meta` of the first sequence number that is not set aside.
pub(crate) const NUMBERS: &[u8] = b"numbers";

/// The key in `meta` of the time before which nothing waits.
pub(crate) const LOW_WATER: &[u8] = b"low-water";

/// The key in `meta` of the generation of finished names that is written to.
pub(crate) const MEMORY: &[u8] = b"memory";

/// The content of a task.
#[must_use]
pub fn task(seq: u64) -> [u8; 8] {
    seq.to_be_bytes()
}

/// A place in the order of time.
#[must_use]
pub fn time(at: u64, seq: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&at.to_be_bytes());
    key[8..].copy_from_slice(&seq.to_be_bytes());
    key
}

/// A task's name.
#[must_use]
pub fn name(route: &str, id: &str) -> Bytes {
    let mut key = of_route(route, id.len());
    key.extend_from_slice(id.as_bytes());
    key.into()
}

/// What the keys of a route begin with.
#[must_use]
pub fn route(route: &str) -> Bytes {
    of_route(route, 0).into()
}

/// A place in the order of time of one route.
#[must_use]
pub fn route_time(route: &str, at: u64, seq: u64) -> Bytes {
    let mut key = of_route(route, 16);
    key.extend_from_slice(&time(at, seq));
    key.into()
}

/// Time and sequence number, which a key ends with.
///
/// # Errors
///
/// If it is too short for that.
pub fn time_of(key: &[u8]) -> Result<(u64, u64), StoreError> {
    let short = || StoreError::damage("read a key", "it is too short");
    let (rest, seq) = key.split_last_chunk().ok_or_else(short)?;
    let (_, at) = rest.split_last_chunk().ok_or_else(short)?;
    Ok((u64::from_be_bytes(*at), u64::from_be_bytes(*seq)))
}

fn of_route(route: &str, more: usize) -> Vec<u8> {
    let length = u8::try_from(route.len()).expect("a route is at most 128 bytes long");
    let mut key = Vec::with_capacity(1 + route.len() + more);
    key.push(length);
    key.extend_from_slice(route.as_bytes());
    key
}
