use core::time::Duration;

/// What the output of an attempt means for the race.
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
///         (400..500, _) => Verdict::Fatal, // every replica answers the same
///         _ => Verdict::Retryable,
///     }
/// }
/// # assert_eq!(classify(&Response { status: 404, retry_after: None }), Verdict::Fatal);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// The output wins, or counts towards the quorum.
    Accept,
    /// The attempt failed. The race continues with the others.
    Retryable,
    /// The attempt failed for the whole race: the others are cancelled, and the race fails.
    Fatal,
    /// The attempt failed, and the next one does not start before this delay has passed, whatever
    /// else makes it due. gRPC calls this pushback, HTTP `Retry-After`.
    NotBefore(Duration),
    /// The attempt failed, and no more attempts start. Running attempts can still win. gRPC calls
    /// this a negative pushback.
    NoMoreStarts,
}
