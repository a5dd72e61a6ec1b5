use core::time::Duration;

/// What the output of an attempt means for the race, as a classifier sees it.
///
/// ```
/// use std::time::Duration;
/// use race_core::Verdict;
///
/// # struct Response { status: u16, retry_after: Option<Duration> }
/// fn classify(response: &Response) -> Verdict {
///     match (response.status, response.retry_after) {
///         (200..400, _) => Verdict::Accept,
///         (429 | 503, Some(delay)) => Verdict::NotBefore(delay),
///         (400..500, _) => Verdict::Fatal, // it will be no better elsewhere
///         _ => Verdict::Retryable,
///     }
/// }
/// # assert_eq!(classify(&Response { status: 404, retry_after: None }), Verdict::Fatal);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// It wins, or counts towards the quorum.
    Accept,
    /// It failed; the race goes on with the others.
    Retryable,
    /// It failed for all: the others are cancelled, and it is what the race gives back.
    Fatal,
    /// It failed, and the next attempt shall not start before this delay has passed, whatever else makes it
    /// due. Called pushback in gRPC, and `Retry-After` in HTTP.
    NotBefore(Duration),
    /// It failed, and no more attempts shall start; those that run may still win. gRPC's negative
    /// pushback.
    NoMoreStarts,
}
