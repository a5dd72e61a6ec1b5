use race_core::{Policy, policy::IntoPolicy};

use crate::ReadClass;

/// The delay of each kind of read.
///
/// Every [`Policy`] that can be cloned is one, such as a `Duration`: the same for all reads.
/// `AdaptiveDelays` (feature `adaptive`) learn a delay for each kind. Implement it to choose by
/// kind:
///
/// ```
/// use std::time::Duration;
/// use race_object_store::{Delays, ReadClass};
///
/// struct HeadsSooner;
///
/// impl<T> Delays<T> for HeadsSooner {
///     type Delay = Duration;
///
///     fn delay(&self, class: ReadClass) -> Duration {
///         let millis = if class == ReadClass::Head { 20 } else { 100 };
///         Duration::from_millis(millis)
///     }
/// }
/// ```
///
/// `T` is the timer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say when reads are hedged: it does not implement `Delays`",
    label = "not the `Delays` of a hedged store",
    note = "delays are a `Duration`, `AdaptiveDelays` (feature `adaptive`), or a type with an `impl \
            Delays`; also a policy that is `Clone + Send + Sync`: `Steps`, `GrowingDelay`, \
            `Backoff`, or a closure `|index: usize| -> Option<Duration>`",
    note = "for an `Adaptive`, use `AdaptiveDelays::new(|_class| adaptive())`, which learns with \
            one for each kind of read, or `AdaptiveDelays::extra_load(percent)`"
)]
pub trait Delays<T>: Send + Sync + 'static {
    /// The delay of one read.
    type Delay: IntoPolicy<T, Policy: Send, Hooks: Send> + Send;

    /// Returns the delay for a read of this kind.
    ///
    /// Called once for each read, once more when its body first has to be waited for, and for each
    /// stall of that.
    fn delay(&self, class: ReadClass) -> Self::Delay;
}

#[diagnostic::do_not_recommend]
impl<T, P: Policy + Clone + Send + Sync + 'static> Delays<T> for P {
    type Delay = P;

    fn delay(&self, _: ReadClass) -> P {
        self.clone()
    }
}
