//! Fields that an export adds to the lines of schedules. A server ignores them.

use serde_json::value::RawValue;

use crate::{
    field::{EXACT, Field},
    unix_time::millis,
};

/// Reads a field with a time, as `fire_at` is read. Returns Unix milliseconds.
///
/// # Errors
///
/// The error names the field, its value and the cure.
pub fn read_time(name: &'static str, raw: Option<&RawValue>) -> Result<Option<u64>, String> {
    millis(Field { name, raw }).map_err(|error| error.message)
}

/// Reads a field with a delay, as `delay_ms` is read. Returns milliseconds.
///
/// # Errors
///
/// The error names the field, its value and the cure.
pub fn read_delay(name: &'static str, raw: Option<&RawValue>) -> Result<Option<u64>, String> {
    let delay_ms = Field { name, raw }.number("milliseconds", 0..=EXACT);
    delay_ms.map_err(|error| error.message)
}
