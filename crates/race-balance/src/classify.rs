//! What the output of an attempt says about its endpoint.

use race_core::Verdict;

/// Decides what the output of an attempt says about its endpoint: [`Verdict::Accept`] and
/// [`Verdict::Fatal`] that it is well, [`Verdict::NotBefore`] that it asks for a pause, and the
/// others that it failed.
pub trait Classify<Output> {
    /// Returns the verdict.
    fn classify(&self, output: &Output) -> Verdict;
}

/// Accepts every output: see [`Lease::run`](crate::Lease::run).
#[derive(Clone, Copy, Debug, Default)]
pub struct Always;

/// Accepts an `Ok`: see [`Lease::try_run`](crate::Lease::try_run).
#[derive(Clone, Copy, Debug, Default)]
pub struct OkOnly;

/// Accepts an `Ok`, and asks a function about an `Err`: see
/// [`Lease::try_run_by`](crate::Lease::try_run_by).
#[derive(Clone, Copy, Debug)]
pub struct ErrBy<F>(pub(crate) F);

impl<Output> Classify<Output> for Always {
    fn classify(&self, _: &Output) -> Verdict {
        Verdict::Accept
    }
}

impl<T, X> Classify<Result<T, X>> for OkOnly {
    fn classify(&self, output: &Result<T, X>) -> Verdict {
        match output {
            Ok(_) => Verdict::Accept,
            Err(_) => Verdict::Retryable,
        }
    }
}

impl<T, X, F: Fn(&X) -> Verdict> Classify<Result<T, X>> for ErrBy<F> {
    fn classify(&self, output: &Result<T, X>) -> Verdict {
        match output {
            Ok(_) => Verdict::Accept,
            Err(error) => (self.0)(error),
        }
    }
}
