//! Times in RFC 3339.

use jiff::Timestamp;

/// The length of a date and a time to the second.
const SECONDS_LEN: usize = "2030-01-31T08:00:00".len();

/// Why a text is no time in RFC 3339, with the cure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rfc3339Error {
    /// It has another form.
    #[error(
        "give a time in RFC 3339 such as 2030-01-31T08:00:00Z, with at most 9 digits of a fraction"
    )]
    Form,
    /// It has no offset from UTC, so that it means another time in each zone.
    #[error("give its offset from UTC, too: Z, or one such as +01:00")]
    NoOffset,
    /// It has a zone in brackets.
    #[error("leave out the zone in brackets: only the offset counts")]
    Zone,
    /// There is no such day or time, or it is beyond the last one.
    #[error("give a time that exists, from 1970-01-01T00:00:00Z to 9999-12-30T22:00:00Z")]
    NoSuchTime,
    /// It is before 1970.
    #[error("give a time from 1970 on; 0 means now")]
    Before1970,
}

/// Reads a time in RFC 3339, such as `2030-01-31T08:00:00+01:00`. Returns Unix milliseconds, rounded
/// up, so that nothing is early.
///
/// An offset is required. There are no leap seconds.
///
/// # Errors
///
/// If it has another form, or is before 1970 or after 9999-12-30T22:00:00Z.
pub fn parse_rfc_3339(text: &str) -> Result<u64, Rfc3339Error> {
    check_form(text)?;
    if &text[SECONDS_LEN - 2..SECONDS_LEN] == "60" {
        return Err(Rfc3339Error::NoSuchTime);
    }
    let time: Timestamp = text.parse().map_err(|_| Rfc3339Error::NoSuchTime)?;
    let nanos = u128::try_from(time.as_nanosecond()).map_err(|_| Rfc3339Error::Before1970)?;
    u64::try_from(nanos.div_ceil(1_000_000)).map_err(|_| Rfc3339Error::NoSuchTime)
}

/// Returns Unix milliseconds with the same time in RFC 3339, if it is before the year 10000.
#[must_use]
pub fn in_both_forms(millis: u64) -> String {
    let time = i64::try_from(millis).ok();
    match time.and_then(|time| Timestamp::from_millisecond(time).ok()) {
        Some(time) => format!("{millis} ({time})"),
        None => millis.to_string(),
    }
}

/// Whether a text begins like a date, and not like a number.
pub(crate) fn begins_with_year(text: &str) -> bool {
    text.get(..5).is_some_and(|start| has_form(start, "0000-"))
}

/// Checks the form. The library also reads other forms of ISO 8601 and zones in brackets.
fn check_form(text: &str) -> Result<(), Rfc3339Error> {
    let (start, rest) = text
        .split_at_checked(SECONDS_LEN)
        .ok_or(Rfc3339Error::Form)?;
    if !has_form(start, "0000-00-00T00:00:00") {
        return Err(Rfc3339Error::Form);
    }
    let offset = match rest.strip_prefix('.') {
        Some(rest) => {
            let offset = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
            match rest.len() - offset.len() {
                1..=9 => offset,
                _ => return Err(Rfc3339Error::Form),
            }
        }
        None => rest,
    };
    let is_offset =
        matches!(offset, "Z" | "z") || has_form(offset, "+00:00") && &offset[1..3] <= "23";
    match offset {
        "" => Err(Rfc3339Error::NoOffset),
        _ if is_offset => Ok(()),
        zone if zone.ends_with(']') => Err(Rfc3339Error::Zone),
        _ => Err(Rfc3339Error::Form),
    }
}

/// Whether a text has this form: `0` stands for any digit, `+` for a sign, and `T` for what is
/// between a date and a time.
fn has_form(text: &str, form: &str) -> bool {
    let has = |(byte, wanted): (u8, u8)| match wanted {
        b'0' => byte.is_ascii_digit(),
        b'+' => matches!(byte, b'+' | b'-'),
        b'T' => matches!(byte, b'T' | b't' | b' '),
        _ => byte == wanted,
    };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_with_its_offset() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2024-11-26T10:20:00Z", 1_732_616_400_000),
            ("2024-11-26t10:20:00z", 1_732_616_400_000),
            ("2024-11-26 10:20:00Z", 1_732_616_400_000),
            ("2024-11-26T11:20:00+01:00", 1_732_616_400_000),
            ("2024-11-25T10:21:00-23:59", 1_732_616_400_000),
            ("2024-11-26T10:20:00-00:00", 1_732_616_400_000),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000),
            ("9999-12-30T22:00:00Z", 253_402_207_200_000),
        ] {
            assert_eq!(parse_rfc_3339(text), Ok(millis), "{text}");
        }
    }

    #[test]
    fn a_time_is_shown_in_both_forms() {
        for (millis, shown) in [
            (0, "0 (1970-01-01T00:00:00Z)"),
            (
                1_732_616_400_001,
                "1732616400001 (2024-11-26T10:20:00.001Z)",
            ),
            (1 << 53, "9007199254740992"),
            (u64::MAX, "18446744073709551615"),
        ] {
            assert_eq!(in_both_forms(millis), shown);
        }
    }

    #[test]
    fn a_part_of_a_millisecond_counts_as_one() {
        for (fraction, millis) in [
            (".0", 0),
            (".5", 500),
            (".001", 1),
            (".001000001", 2),
            (".0010", 1),
            (".999000000", 999),
            (".999000001", 1_000),
        ] {
            let text = format!("2024-11-26T10:20:00{fraction}Z");
            assert_eq!(
                parse_rfc_3339(&text),
                Ok(1_732_616_400_000 + millis),
                "{text}"
            );
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_cure() {
        use Rfc3339Error::*;
        for (text, error) in [
            ("", Form),
            ("2024-11-26", Form),
            ("2024-11-26T10:20Z", Form),
            ("2024-11-26T10Z", Form),
            ("20241126T102000Z", Form),
            ("2024-11-26_10:20:00Z", Form),
            ("2024-11-26T10:20:00,5Z", Form),
            ("2024-11-26T10:20:00.Z", Form),
            ("2024-11-26T10:20:00.0123456789Z", Form),
            ("2024-11-26T10:20:00+01", Form),
            ("2024-11-26T10:20:00+0100", Form),
            ("2024-11-26T10:20:00+24:00", Form),
            ("2024-11-26T10:20:00 01:00", Form),
            ("2024-11-26T10:20:00Z ", Form),
            ("2024-11-26T10:20:00éé", Form),
            ("+002024-11-26T10:20:00Z", Form),
            ("12024-11-26T10:20:00Z", Form),
            ("2024-11-26T10:20:00", NoOffset),
            ("2024-11-26T10:20:00.5", NoOffset),
            ("2024-11-26T10:20:00Z[UTC]", Zone),
            ("2024-11-26T11:20:00+01:00[Europe/Berlin]", Zone),
            ("2024-11-26T11:20:00[Europe/Berlin]", Zone),
            ("2023-02-29T00:00:00Z", NoSuchTime),
            ("2024-13-01T00:00:00Z", NoSuchTime),
            ("2024-11-26T24:00:00Z", NoSuchTime),
            ("2024-11-26T10:60:00Z", NoSuchTime),
            ("2016-12-31T23:59:60Z", NoSuchTime),
            ("2024-11-26T10:20:00+01:60", NoSuchTime),
            ("9999-12-31T23:59:59Z", NoSuchTime),
            ("1969-12-31T23:59:59.9999Z", Before1970),
            ("1970-01-01T00:00:00+00:01", Before1970),
            ("0000-01-01T00:00:00Z", Before1970),
        ] {
            assert_eq!(parse_rfc_3339(text), Err(error), "{text}");
        }
    }
}
