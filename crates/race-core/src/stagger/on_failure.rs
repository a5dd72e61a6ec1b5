/// Whether a failed attempt starts the next one, in result-aware finishers such as `first_ok`.
///
/// Except with [`Wait`](OnFailure::Wait), the next attempt also starts when no attempt is running
/// any more. The policy can put a pause between the failure and the start: see
/// [`Backoff`](crate::Backoff). After such a start, the delay counts anew.
///
/// Default: [`OnFailure::IfLatest`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnFailure {
    /// A failure starts nothing: the next attempt waits for its delay. If it has no delay, the race
    /// ends when no attempt is running.
    Wait,
    /// A failure starts the next attempt if the failed attempt was the latest to start. The rule of
    /// `staggered_race` in CPython and Trio.
    #[default]
    IfLatest,
    /// A failure starts the next attempt if no attempt is running any more. The rule of OkHttp.
    IfIdle,
    /// Each failure starts the next attempt. The rule of gRPC hedging. Failures that happen before
    /// that attempt starts count as one.
    Any,
}

impl OnFailure {
    /// Returns whether a failure starts the next attempt: of the attempt that started last, or with
    /// no other attempt running.
    pub(super) fn starts_next(self, is_latest: bool, is_idle: bool) -> bool {
        match self {
            Self::Wait => false,
            Self::IfLatest => is_latest || is_idle,
            Self::IfIdle => is_idle,
            Self::Any => true,
        }
    }
}
