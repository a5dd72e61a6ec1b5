//! The last bytes of table and version files.
//!
//! ```text
//! trailer = "SFA!", 1, 0, checksum of the contents: u128, contents at: u64, their length: u64
//! ```

/// The length of a trailer in bytes.
pub const LENGTH: usize = 38;

/// Returns where the table of contents begins.
#[must_use]
pub fn contents(trailer: &[u8; LENGTH]) -> Option<u64> {
    let fields = trailer.strip_prefix(b"SFA!\x01\x00")?;
    let (at, _) = fields.get(16..)?.split_first_chunk()?;
    Some(u64::from_le_bytes(*at))
}
