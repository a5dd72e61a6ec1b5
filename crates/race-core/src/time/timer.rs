use core::{
    ops::DerefMut,
    pin::Pin,
    task::{Context, Poll},
};

use crate::Moment;

/// A clock and one alarm on it.
///
/// A race owns one timer and waits for one deadline at a time. Each poll names the deadline, so
/// a deadline that moves needs no new timer.
///
/// # Contract
///
/// Implementations must:
///
/// - return `Ready` from [`poll_until`](Timer::poll_until) only when [`now`](Timer::now) has
///   reached the deadline;
/// - be level-triggered: once a deadline has passed, every later poll for it returns `Ready`;
/// - when they return `Pending`, have registered the waker of that poll to be woken when that
///   deadline passes; this waker and deadline replace those of the previous poll;
/// - treat [`Moment::NEVER`] as never: return `Pending` and wait for nothing;
/// - never let the clock go backwards.
///
/// Spurious wakes are allowed. A race polls its attempts before its timer, and they may use up the
/// cooperative budget of the task (as in tokio); the timer should become ready even then.
///
/// The module `conformance` (feature `conformance`) checks these rules.
///
/// # Writing a timer
///
/// Over a shared clock and a future that sleeps, a timer takes about 20 lines; see the example
/// `custom_timer`. A timer that is not `Unpin` races as `Pin<Box<MyTimer>>`, and one chosen at run
/// time as a `BoxTimer`, or as `Pin<Box<dyn Timer>>` if it cannot be cloned or sent.
///
/// Make a timer `Clone` and `Default` if you can: a clone is a fresh timer on the same clock. Then
/// a struct can hold one and clone it for each race, and `Race::of` works without a timer argument.
#[diagnostic::on_unimplemented(
    message = "a race needs a `Timer`, and `{Self}` is none",
    label = "no timer for this race",
    note = "use `race_thread::Race`, on any executor (in the `race` crate: `race::Race`), or that of a \
            runtime: `race_tokio::Race`, `race_async_io::Race`, `race_smol::Race`, \
            `race_embassy::Race`, `race_web::Race` (there: features `tokio`, `async-io`, `smol`, \
            `embassy`, `web`)",
    note = "or bring your own `impl Timer`: `Race::at(timer).of(..)`"
)]
pub trait Timer {
    /// Returns the current time.
    fn now(&self) -> Moment;

    /// Returns `Ready` if `deadline` has passed; otherwise registers `cx` to be woken when it does.
    ///
    /// # Cancel safety
    ///
    /// Not polling a timer again loses nothing: the next poll names its own deadline.
    fn poll_until(self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()>;

    /// Cancels the alarm until the next poll.
    ///
    /// Default: does nothing. Implement it if it saves a wake or a registration.
    fn disarm(self: Pin<&mut Self>) {}
}

impl<T: Timer + Unpin + ?Sized> Timer for &mut T {
    fn now(&self) -> Moment {
        (**self).now()
    }

    fn poll_until(mut self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut **self).poll_until(deadline, cx)
    }

    fn disarm(mut self: Pin<&mut Self>) {
        Pin::new(&mut **self).disarm();
    }
}

impl<P> Timer for Pin<P>
where
    P: DerefMut<Target: Timer>,
{
    fn now(&self) -> Moment {
        (**self).now()
    }

    fn poll_until(self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        self.as_deref_mut().poll_until(deadline, cx)
    }

    fn disarm(self: Pin<&mut Self>) {
        self.as_deref_mut().disarm();
    }
}
