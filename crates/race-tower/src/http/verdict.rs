//! The pauses that a failed answer asks for.

use std::time::Duration;

use http::{HeaderMap, header::RETRY_AFTER};
use race_core::Verdict;

/// Returns the verdict on a failed answer of gRPC: `grpc-retry-pushback-ms` is a pause in
/// milliseconds; a negative one, or what is no number, forbids further attempts.
pub(super) fn pushback(headers: &HeaderMap) -> Verdict {
    let Some(pushback) = headers.get("grpc-retry-pushback-ms") else {
        return Verdict::Retryable;
    };
    match pushback.to_str().ok().and_then(|it| it.parse().ok()) {
        Some(millis) => pause(Duration::from_millis(millis)),
        None => Verdict::NoMoreStarts,
    }
}

/// Returns the verdict on a failed answer of HTTP. A date in `Retry-After` would need a wall clock
/// that agrees with that of the server.
pub(super) fn retry_after(headers: &HeaderMap) -> Verdict {
    let seconds = headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok());
    match seconds.and_then(|it| number(it.trim())) {
        Some(seconds) => pause(Duration::from_secs(seconds)),
        None => Verdict::Retryable,
    }
}

/// Reads digits. A larger number than fits is the largest one.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

fn pause(pause: Duration) -> Verdict {
    match pause.is_zero() {
        true => Verdict::Retryable,
        false => Verdict::NotBefore(pause),
    }
}
