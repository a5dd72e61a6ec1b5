use core::fmt;

use super::Verdict;

/// Says what an output means, and takes it apart.
pub trait Judge<O> {
    /// What a winner gives.
    type Value;
    /// What is kept of one that failed.
    type Error;

    #[doc(hidden)]
    fn judge(&mut self, output: O) -> Judged<Self::Value, Self::Error>;
}

#[derive(Debug)]
pub enum Judged<V, E> {
    Accepted(V),
    /// And what follows from it.
    Rejected(E, Verdict),
}

/// `Ok` is accepted, and every `Err` is retryable.
#[derive(Clone, Copy, Debug, Default)]
pub struct OkWins;

impl<V, E> Judge<Result<V, E>> for OkWins {
    type Value = V;
    type Error = E;

    #[inline]
    fn judge(&mut self, output: Result<V, E>) -> Judged<V, E> {
        match output {
            Ok(value) => Judged::Accepted(value),
            Err(error) => Judged::Rejected(error, Verdict::Retryable),
        }
    }
}

/// `Ok` is accepted, and a classifier says what an `Err` means. If it accepts one, that is retryable.
#[derive(Clone, Copy)]
pub struct OkWinsBy<C>(pub(crate) C);

impl<V, E, C: FnMut(&E) -> Verdict> Judge<Result<V, E>> for OkWinsBy<C> {
    type Value = V;
    type Error = E;

    fn judge(&mut self, output: Result<V, E>) -> Judged<V, E> {
        match output {
            Ok(value) => Judged::Accepted(value),
            Err(error) => {
                let verdict = (self.0)(&error);
                Judged::Rejected(error, verdict)
            }
        }
    }
}

/// What a classifier says.
#[derive(Clone, Copy)]
pub struct By<C>(pub(crate) C);

impl<O, C: FnMut(&O) -> Verdict> Judge<O> for By<C> {
    type Value = O;
    type Error = O;

    fn judge(&mut self, output: O) -> Judged<O, O> {
        match (self.0)(&output) {
            Verdict::Accept => Judged::Accepted(output),
            verdict => Judged::Rejected(output, verdict),
        }
    }
}

impl<C> fmt::Debug for By<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("By").finish_non_exhaustive()
    }
}

impl<C> fmt::Debug for OkWinsBy<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OkWinsBy").finish_non_exhaustive()
    }
}
