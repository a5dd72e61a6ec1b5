use super::{Hook, Policy};

/// A value that the constructors of a race take as their policy.
///
/// Every [`Policy`] is one. `&Adaptive`, `Arc<Adaptive>` and `&Arc<Adaptive>` bring an observer and a
/// budget along; the timer must then be `Clone`.
///
/// `T` is the timer of the race.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say when attempts start in a race with the timer `{T}`",
    note = "a policy is a `Duration`, `Steps`, `GrowingDelay`, `Backoff`, `&Adaptive`, `Arc<Adaptive>`, or a \
            closure `|index: usize| -> Option<Duration>`",
    note = "an `Adaptive` measures attempts on a clone of the timer, so `{T}` must be `Clone`; or \
            pass `adaptive.timed_by(clock)`",
    note = "for a `LazyLock` or another pointer, pass what it points to: `&*pointer`"
)]
pub trait IntoPolicy<T> {
    /// The policy.
    type Policy: Policy;

    #[doc(hidden)]
    type Hooks: Hook;

    #[doc(hidden)]
    fn into_policy(self, timer: &T) -> (Self::Policy, Self::Hooks);
}

impl<T, P: Policy> IntoPolicy<T> for P {
    type Policy = P;
    type Hooks = ();

    fn into_policy(self, _: &T) -> (P, ()) {
        (self, ())
    }
}
