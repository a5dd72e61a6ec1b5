//! The keys of the store.
//!
//! Numbers are big-endian, so that keys sort by number. A route follows its length, so that the
//! prefix of a route matches only keys of that route.

use crate::{Bytes, StoreError};

/// The key in `meta` that is present while the spaces may disagree, after an accepted loss.
pub const MENDING: &[u8] = b"mending";

/// The key in `meta` of the end of the reserved sequence numbers.
pub const NUMBERS: &[u8] = b"numbers";

/// The key in `meta` of the low-water mark.
pub const LOW_WATER: &[u8] = b"low-water";

/// The key in `meta` of the deduplication window's current generation. Its name is older.
pub const DEDUPE_WINDOW: &[u8] = b"memory";

/// The key in `meta` of the last entry of the journal that a replica contains.
pub const APPLIED: &[u8] = b"applied";

/// The key in `meta` of the last entry that a replica had when it was synced.
pub const SYNCED: &[u8] = b"synced";

/// The key in `meta` of the deliveries in flight when a leadership of a shard ended as planned.
pub const HANDED_OVER: &[u8] = b"handed-over";

/// The prefix of the keys in `meta` of paused routes.
pub const PAUSED: &[u8] = b"paused/";

/// The prefix of the keys in `meta` of bulk operations.
pub const JOBS: &[u8] = b"job/";

/// The prefix of the keys in `meta` of the lines of the audit.
pub const AUDIT: &[u8] = b"audit/";

/// The prefix of the keys in `meta` of the index of expiry.
pub const EXPIRY: &[u8] = b"expiry/";

/// The prefix of the keys in `meta` of the index of retrying tasks.
pub const RETRYING: &[u8] = b"retrying/";

/// The prefix of the keys in `meta` of the numbers of retrying tasks of each route. The empty route
/// has the sum.
pub const RETRYING_COUNTS: &[u8] = b"retrying-count/";

/// The prefix of [`RETRYING`] and [`RETRYING_COUNTS`].
pub const RETRYING_PREFIX: &[u8] = b"retrying";

/// The length of the longest route in bytes. A record that was not written by the server can have a
/// longer one, which no key may contain.
pub(crate) const LONGEST_ROUTE: usize = 128;

/// Returns the key of a revision's content.
#[must_use]
pub fn task(seq: u64) -> [u8; 8] {
    seq.to_be_bytes()
}

/// Returns the key of an entry in a space that is ordered by time.
#[must_use]
pub fn time(at: u64, seq: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&at.to_be_bytes());
    key[8..].copy_from_slice(&seq.to_be_bytes());
    key
}

/// Returns the key of a task's state.
#[must_use]
pub fn name(route: &str, id: &str) -> Bytes {
    let mut key = route_prefix(route, id.len());
    key.extend_from_slice(id.as_bytes());
    key.into()
}

/// Returns the prefix of the keys of a route, which is also the key of its counts.
#[must_use]
pub fn route(route: &str) -> Bytes {
    route_prefix(route, 0).into()
}

/// Returns the key of an entry in a space that is ordered by route and time.
#[must_use]
pub fn route_time(route: &str, at: u64, seq: u64) -> Bytes {
    let mut key = route_prefix(route, 16);
    key.extend_from_slice(&time(at, seq));
    key.into()
}

/// Returns the key of a paused route.
#[must_use]
pub fn paused(route: &str) -> Vec<u8> {
    [PAUSED, route.as_bytes()].concat()
}

/// Returns the key of a bulk operation.
#[must_use]
pub fn job(id: u64) -> Vec<u8> {
    [JOBS, &id.to_be_bytes()].concat()
}

/// Returns the key of a slot in the ring of the audit.
#[must_use]
pub fn audit(slot: u64) -> Vec<u8> {
    [AUDIT, &slot.to_be_bytes()].concat()
}

/// Returns the key of a task in the index of expiry.
#[must_use]
pub fn expiry(at: u64, seq: u64) -> Vec<u8> {
    [EXPIRY, &time(at, seq)].concat()
}

/// Returns the key of a task in the index of retrying tasks.
#[must_use]
pub fn retrying(route: &str, at: u64, seq: u64) -> Bytes {
    let mut key = retrying_route(route).to_vec();
    key.extend_from_slice(&time(at, seq));
    key.into()
}

/// Returns the prefix of the keys of a route in the index of retrying tasks.
#[must_use]
pub fn retrying_route(route: &str) -> Bytes {
    [RETRYING, &route_prefix(route, 0)].concat().into()
}

/// Returns the key of the number of retrying tasks of a route.
#[must_use]
pub fn retrying_count(route: &str) -> Bytes {
    [RETRYING_COUNTS, route.as_bytes()].concat().into()
}

/// Returns the number that a key ends with.
///
/// # Errors
///
/// If the key is no number.
pub fn number_of(rest: &[u8]) -> Result<u64, StoreError> {
    let number = rest.try_into().map(u64::from_be_bytes);
    number.map_err(|_| StoreError::damage("read a key", "the key ends with no number"))
}

/// Returns the name that a key ends with.
///
/// # Errors
///
/// If the key is not UTF-8.
pub fn text_of(rest: &[u8]) -> Result<&str, StoreError> {
    std::str::from_utf8(rest).map_err(|error| StoreError::damage("read a key", error))
}

/// Returns the time and the sequence number at the end of the key of an entry.
///
/// # Errors
///
/// If the key is too short.
pub fn time_of(key: &[u8]) -> Result<(u64, u64), StoreError> {
    let short = || StoreError::damage("read a key", "the key is too short");
    let (rest, seq) = key.split_last_chunk().ok_or_else(short)?;
    let (_, at) = rest.split_last_chunk().ok_or_else(short)?;
    Ok((u64::from_be_bytes(*at), u64::from_be_bytes(*seq)))
}

/// Returns the route and the id in the key of a task's state. `None` if the key is malformed.
#[must_use]
pub fn name_of(key: &[u8]) -> Option<(&str, &str)> {
    let (route, id) = route_of(key)?;
    Some((route, std::str::from_utf8(id).ok()?))
}

/// Returns the route at the start of a key, and what follows it. `None` if the key is malformed.
#[must_use]
pub fn route_of(key: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = key.split_first()?;
    let length = Some(usize::from(*length)).filter(|length| *length <= LONGEST_ROUTE)?;
    let (route, rest) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(route).ok()?, rest))
}

fn route_prefix(route: &str, more: usize) -> Vec<u8> {
    let length = u8::try_from(route.len()).expect("a route is at most 128 bytes long");
    let mut key = Vec::with_capacity(1 + route.len() + more);
    key.push(length);
    key.extend_from_slice(route.as_bytes());
    key
}
