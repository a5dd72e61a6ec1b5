//! The rules of a layer of `race-tower`, over several services.

use std::{
    fmt,
    marker::PhantomData,
    task::{Context, Poll},
};

use race_core::{Verdict, observe::Clock};
use race_tower::{Beginning, Rules};

use crate::{Balance, Classify, Monotonic};

/// Rules for the layer over a [`Balanced`](crate::Balanced), made by
/// [`Balanced::layer_rules`](crate::Balanced::layer_rules): a service that asks for a pause keeps
/// the request waiting only if no other one is left.
pub struct LayerRules<R, E, C = Monotonic> {
    rules: R,
    balance: Balance<E, C>,
}

/// Asks [`Rules`] what an answer says about its service: the `Classify` of a
/// [`BalancedService`](crate::BalancedService).
pub struct ByRules<R, Req> {
    rules: R,
    request: PhantomData<fn(Req)>,
}

impl<R, E, C> LayerRules<R, E, C> {
    pub(crate) fn new(rules: R, balance: Balance<E, C>) -> Self {
        Self { rules, balance }
    }
}

impl<Req, Res, X, R, E, C> Rules<Req, Res, X> for LayerRules<R, E, C>
where
    R: Rules<Req, Res, X>,
    C: Clock,
{
    fn repeat(&self, request: &Req) -> Option<Req> {
        self.rules.repeat(request)
    }

    fn poll_repeat(&self, request: &mut Req, cx: &mut Context<'_>) -> Poll<bool> {
        self.rules.poll_repeat(request, cx)
    }

    fn begin(&self, request: &mut Req, beginning: &mut Beginning<'_>) {
        self.rules.begin(request, beginning);
    }

    fn judge(&self, answer: &Result<Res, X>) -> Verdict {
        self.balance.for_race(self.rules.judge(answer))
    }
}

impl<R: Clone, E, C: Clone> Clone for LayerRules<R, E, C> {
    fn clone(&self) -> Self {
        Self {
            rules: self.rules.clone(),
            balance: self.balance.clone(),
        }
    }
}

impl<R, E, C> fmt::Debug for LayerRules<R, E, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayerRules").finish_non_exhaustive()
    }
}

impl<R, Req> ByRules<R, Req> {
    pub(crate) fn new(rules: R) -> Self {
        Self {
            rules,
            request: PhantomData,
        }
    }
}

impl<Req, Res, X, R: Rules<Req, Res, X>> Classify<Result<Res, X>> for ByRules<R, Req> {
    fn classify(&self, answer: &Result<Res, X>) -> Verdict {
        self.rules.judge(answer)
    }
}

impl<R, Req> fmt::Debug for ByRules<R, Req> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByRules").finish_non_exhaustive()
    }
}
