use core::fmt;

use super::Verdict;

/// Classifies the outputs of attempts.
#[doc(hidden)]
pub trait Judge<O> {
    /// The part of an accepted output that is kept.
    type Value;
    /// The part of a rejected output that is kept.
    type Error;

    fn judge(&mut self, output: O) -> Judged<Self::Value, Self::Error>;
}

#[doc(hidden)]
#[derive(Debug)]
pub enum Judged<V, E> {
    Accepted(V),
    Rejected(E, Verdict),
}

/// The judge of `first_ok`: `Ok` is accepted, and every `Err` is retryable.
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

/// The judge of `first_ok_by`: `Ok` is accepted, and a function classifies each `Err`. An `Err`
/// that it accepts is retryable.
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

/// The judge of `first_by`: a function classifies each output.
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
