use core::{
    ops::DerefMut,
    pin::Pin,
    task::{Context, Poll},
};

use crate::Moment;

/// One alarm and the clock it goes by: *what time is it* and *wake me at*.
///
/// A race owns one timer and one deadline at a time. It decides when the deadline moves, so there
/// is nothing to re-create and nothing to forget: each poll names the deadline that counts.
///
/// # Contract
///
/// Implementations must:
///
/// - return `Ready` from [`poll_until`](Timer::poll_until) only when [`now`](Timer::now) has
///   reached the deadline;
/// - be level-triggered: once a deadline has passed, every later poll for it is `Ready`;
/// - when they return `Pending`, have registered the waker of that very poll, to be woken when that
///   very deadline passes; both replace the ones of the poll before;
/// - treat [`Moment::NEVER`] as never: `Pending`, with nothing to wait for;
/// - never let the clock go backwards.
///
/// They may wake without need. They should become ready even when the surrounding task has used up
/// a cooperative budget, since a race has already polled its attempts by then.
///
/// [`conformance`](crate::conformance) (feature `test-util`) checks all of it.
///
/// # Writing one
///
/// Over a clock that anyone can read and a future that sleeps, a timer is about 20 lines; the
/// `custom_timer` example writes one. A timer that is not `Unpin` races as `Pin<Box<MyTimer>>`, and
/// one chosen at run time as `Pin<Box<dyn Timer + Send>>`.
#[diagnostic::on_unimplemented(
    message = "a race needs a `Timer`, and `{Self}` is none",
    label = "no timer for this race",
    note = "use `race_thread::Race`, on any executor (in the `race` crate: `race::Race`), or that of a \
            runtime: `race_tokio::Race`, `race_async_io::Race`, `race_smol::Race` (there: features \
            `tokio`, `async-io`, `smol`)",
    note = "or bring your own `impl Timer` by way of `Race::of_with(timer, ..)`, \
            `new_with(timer, ..)`, `from_stream_with(timer, ..)`"
)]
pub trait Timer {
    /// What time it is now.
    fn now(&self) -> Moment;

    /// Is `Ready` once `deadline` has passed; until then, wakes `cx` when it does.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when a timer is not polled again: the next poll counts from its own deadline.
    fn poll_until(self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()>;

    /// Says that nothing is waited for until the next poll.
    ///
    /// Does nothing unless an implementation can save a wake or a registration by it.
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
