//! Times in Unix milliseconds. A client that gives seconds instead gets a refusal.

use crate::field::{EXACT, Field, FieldError};

/// Times that are taken for Unix seconds: 1973 to 5138 in seconds, the first three years after 1970
/// in milliseconds.
const SECONDS: std::ops::RangeInclusive<u64> = 100_000_000..=99_999_999_999;

/// Reads a time in Unix milliseconds. Refuses what looks like seconds.
pub(super) fn millis(field: Field<'_>) -> Result<Option<u64>, FieldError> {
    let millis = field.number_or_text("Unix milliseconds", 0..=EXACT)?;
    if let Some(millis) = millis.filter(|millis| SECONDS.contains(millis)) {
        let cure = "this looks like Unix seconds; multiply it by 1000 to give Unix milliseconds";
        return Err(field.bad(&millis.to_string(), cure));
    }
    Ok(millis)
}
