use std::{fmt, sync::Arc};

use object_store::{Error, Result};
use race_core::{
    Verdict,
    outcome::{Judge, Judged},
};

/// Classifies the error of a read: an answer that every attempt would get is [`Verdict::Accept`],
/// any other error is [`Verdict::Retryable`].
///
/// Answers are `NotFound`, `NotModified`, `Precondition`, `AlreadyExists`, `PermissionDenied`,
/// `Unauthenticated`, `NotSupported`, `NotImplemented`, `InvalidPath` and
/// `UnknownConfigurationKey`. An answer wins the read, as an `Ok` does, and is returned as it is.
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
        | Error::UnknownConfigurationKey { .. } => Verdict::Accept,
        _ => Verdict::Retryable,
    }
}

type Classify = dyn Fn(&Error) -> Verdict + Send + Sync;

/// [`classify`], or a function of the caller.
#[derive(Clone, Default)]
pub(crate) struct Classifier(Option<Arc<Classify>>);

impl Classifier {
    pub(crate) fn new(classify: impl Fn(&Error) -> Verdict + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(classify)))
    }

    pub(crate) fn verdict(&self, error: &Error) -> Verdict {
        match &self.0 {
            Some(classify) => classify(error),
            None => classify(error),
        }
    }
}

/// Both an `Ok` and an answer win.
impl<V> Judge<Result<V>> for &Classifier {
    type Value = Result<V>;
    type Error = Error;

    fn judge(&mut self, output: Result<V>) -> Judged<Result<V>, Error> {
        let error = match output {
            Ok(value) => return Judged::Accepted(Ok(value)),
            Err(error) => error,
        };
        match self.verdict(&error) {
            Verdict::Accept => Judged::Accepted(Err(error)),
            verdict => Judged::Rejected(error, verdict),
        }
    }
}

impl fmt::Debug for Classifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "custom",
            None => "default",
        })
    }
}
