use std::{
    fmt,
    task::{Context, Poll},
};

use race_core::Verdict;

use crate::Beginning;

/// How a request is repeated, whether it may be, and whether an answer is good.
///
/// [`CloneRequests`] is the default. [`FnRules`] makes rules of two closures. Rules are cloned for
/// each request.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot repeat requests of type `{Req}`",
    note = "`CloneRequests`, the default, needs requests that are `Clone`",
    note = "otherwise say how to repeat one, or that it must not be: `.rules(FnRules::new(..))`"
)]
pub trait Rules<Req, Res, E> {
    /// Returns a copy of a request for another attempt, or `None` if it must not be repeated.
    ///
    /// Called before each attempt that may be followed by another one.
    fn repeat(&self, request: &Req) -> Option<Req>;

    /// Waits until a copy can be sent, when the start of its attempt is due. `Ready(false)`: it
    /// never can, and no more attempts start. `Pending`: the start waits until the waker of `cx` is
    /// woken.
    ///
    /// Default: `Ready(true)`. Rules that wrap others must forward it.
    fn poll_repeat(&self, request: &mut Req, cx: &mut Context<'_>) -> Poll<bool> {
        let _ = (request, cx);
        Poll::Ready(true)
    }

    /// The attempt of a request starts; its copy for the next attempt is made. Use it to add what
    /// belongs to this attempt only, such as the [time left](Beginning::time_left).
    ///
    /// Default: nothing. Rules that wrap others must forward it.
    fn begin(&self, request: &mut Req, beginning: &mut Beginning<'_>) {
        let _ = (request, beginning);
    }

    /// Classifies an answer.
    ///
    /// Default: `Ok` is accepted, and after an `Err` another attempt may start.
    fn judge(&self, answer: &Result<Res, E>) -> Verdict {
        match answer {
            Ok(_) => Verdict::Accept,
            Err(_) => Verdict::Retryable,
        }
    }
}

/// The default rules: every request is repeated by a clone, `Ok` is accepted, and after an `Err`
/// another attempt may start.
///
/// Repeat only what may happen twice: see [`FnRules`] for a choice by request.
#[derive(Clone, Copy, Debug, Default)]
pub struct CloneRequests;

impl<Req: Clone, Res, E> Rules<Req, Res, E> for CloneRequests {
    fn repeat(&self, request: &Req) -> Option<Req> {
        Some(request.clone())
    }
}

/// Rules made of two closures.
///
/// ```
/// use race_core::Verdict;
/// use race_tower::FnRules;
///
/// #[derive(Clone)]
/// struct Request { method: &'static str }
///
/// // Repeats what is safe to repeat, and asks another server if one is overloaded.
/// let rules = FnRules::new(
///     |request: &Request| (request.method == "GET").then(|| request.clone()),
///     |answer: &Result<u16, std::io::Error>| match answer {
///         Ok(503) | Err(_) => Verdict::Retryable,
///         Ok(_) => Verdict::Accept,
///     },
/// );
/// # let _: &dyn race_tower::Rules<Request, u16, std::io::Error> = &rules;
/// ```
#[derive(Clone, Copy)]
pub struct FnRules<R, J> {
    repeat: R,
    judge: J,
}

impl<R, J> FnRules<R, J> {
    /// Makes rules of [`repeat`](Rules::repeat) and [`judge`](Rules::judge). Write the closures
    /// inside the call, with the types of their arguments.
    pub fn new<Req, Res, E>(repeat: R, judge: J) -> Self
    where
        R: Fn(&Req) -> Option<Req>,
        J: Fn(&Result<Res, E>) -> Verdict,
    {
        Self { repeat, judge }
    }
}

impl<Req, Res, E, R, J> Rules<Req, Res, E> for FnRules<R, J>
where
    R: Fn(&Req) -> Option<Req>,
    J: Fn(&Result<Res, E>) -> Verdict,
{
    fn repeat(&self, request: &Req) -> Option<Req> {
        (self.repeat)(request)
    }

    fn judge(&self, answer: &Result<Res, E>) -> Verdict {
        (self.judge)(answer)
    }
}

impl<R, J> fmt::Debug for FnRules<R, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnRules").finish_non_exhaustive()
    }
}
