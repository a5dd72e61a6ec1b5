//! Parsing and formatting of times on the command line.

use std::time::Duration;

use hyper_delay_engine::clock::Clock;
use hyper_delay_protocol::{EXACT, Rfc3339Error, parse_rfc_3339};
use jiff::Timestamp;

/// Values of `fire_at` that the server refuses, as they look like Unix seconds.
const SECONDS: std::ops::RangeInclusive<u64> = 100_000_000..=99_999_999_999;

/// Parses a span such as `5s`, `90m` or `1h 30m`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{error}; give a time such as 500ms, 5s or 1h 30m"))
}

/// Parses Unix milliseconds or a time in RFC 3339 into Unix milliseconds, as the server does.
pub(super) fn parse_time(text: &str) -> Result<u64, String> {
    const CURE: &str =
        "give a time such as 2030-01-31T08:00:00Z or milliseconds since 1970 from 0 to 2^53";
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return parse_rfc_3339(text).map_err(|error| match error {
            Rfc3339Error::Form => CURE.to_owned(),
            error => error.to_string(),
        });
    }
    let millis: Option<u64> = text.parse().ok();
    if let Some(seconds) = millis.filter(|millis| SECONDS.contains(millis)) {
        return Err(format!(
            "this looks like Unix seconds; give milliseconds, {}",
            seconds * 1_000
        ));
    }
    millis
        .filter(|millis| *millis <= EXACT)
        .ok_or_else(|| CURE.to_owned())
}

/// Returns the Unix milliseconds of a time from now, rounded up. At most the latest time of the
/// protocol.
pub(super) fn millis_from_now(after: Duration) -> u64 {
    let at = Duration::from_nanos(Clock::new().now().wall_nanos).saturating_add(after);
    u64::try_from(at.as_nanos().div_ceil(1_000_000)).map_or(EXACT, |millis| millis.min(EXACT))
}

/// Formats Unix milliseconds in RFC 3339, or as a number if RFC 3339 cannot represent them.
pub(super) fn format_rfc_3339(millis: u64) -> String {
    let time = i64::try_from(millis)
        .ok()
        .and_then(|millis| Timestamp::from_millisecond(millis).ok());
    time.map_or_else(|| millis.to_string(), |time| format!("{time:.3}"))
}

/// Formats a number of milliseconds as a span that [`parse_duration`] reads.
pub(super) fn format_duration(millis: u64) -> String {
    humantime::format_duration(Duration::from_millis(millis)).to_string()
}

/// Formats milliseconds with three significant digits.
pub(super) fn format_millis(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1_000.0;
    let digits = match millis {
        ..1.0 => 3,
        1.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{millis:.digits$} ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_milliseconds_or_rfc_3339() {
        assert_eq!(parse_time("1732616400000"), Ok(1_732_616_400_000));
        assert_eq!(parse_time("2024-11-26T10:20:00Z"), Ok(1_732_616_400_000));
        assert_eq!(
            parse_time("2024-11-26T11:20:00.0001+01:00"),
            Ok(1_732_616_400_001)
        );
        for text in ["", "soon", "-1", "2024-11-26", "9007199254740993"] {
            let error = parse_time(text).expect_err(text);
            assert!(error.starts_with("give a time such as "), "{error}");
        }
        for (text, part) in [
            ("2024-11-26T10:20:00", "offset"),
            ("2024-11-26T11:20:00+01:00[Europe/Berlin]", "zone"),
            ("1960-01-01T00:00:00Z", "0 means now"),
            ("2023-02-29T00:00:00Z", "that exists"),
        ] {
            let error = parse_time(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn seconds_are_refused_with_the_value_in_milliseconds() {
        for text in ["100000000", "1732616400", "99999999999"] {
            let error = parse_time(text).expect_err("these are seconds");
            assert!(error.ends_with(&format!(" {text}000")), "{error}");
        }
        for millis in [0, 99_999_999, 100_000_000_000] {
            assert_eq!(parse_time(&millis.to_string()), Ok(millis));
        }
    }

    #[test]
    fn a_moment_is_formatted_as_rfc_3339() {
        assert_eq!(
            format_rfc_3339(1_732_616_400_007),
            "2024-11-26T10:20:00.007Z"
        );
        assert_eq!(format_rfc_3339(1 << 53), (1_u64 << 53).to_string());
    }
}
