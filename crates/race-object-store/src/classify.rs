use object_store::Error;
use race_core::Verdict;

/// Classifies the error of a read: an answer that every attempt would get is [`Verdict::Fatal`],
/// any other error is [`Verdict::Retryable`].
///
/// Answers end the read at once and are returned as they are: `NotFound`, `NotModified`,
/// `Precondition`, `AlreadyExists`, `PermissionDenied`, `Unauthenticated`, `NotSupported`,
/// `NotImplemented`, `InvalidPath` and `UnknownConfigurationKey`.
///
/// It is the default of [`GenericHedgedStore::classify`](crate::GenericHedgedStore::classify).
#[must_use]
pub fn classify(error: &Error) -> Verdict {
    match error {
        Error::NotFound { .. }
        | Error::NotModified { .. }
        | Error::Precondition { .. }
        | Error::AlreadyExists { .. }
        | Error::PermissionDenied { .. }
        | Error::Unauthenticated { .. }
        | Error::NotSupported { .. }
        | Error::NotImplemented { .. }
        | Error::InvalidPath { .. }
        | Error::UnknownConfigurationKey { .. } => Verdict::Fatal,
        _ => Verdict::Retryable,
    }
}
