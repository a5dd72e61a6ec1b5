use alloc::boxed::Box;
use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use super::{Moment, Timer};

/// A timer chosen at run time that can be cloned, for a struct that holds one whichever it is.
///
/// A clone is a fresh timer on the same clock, as with the timer in the box, and costs one
/// allocation. It takes timers that are `Send` and `Sync`. `WebTimer` is neither: there, name the
/// type.
///
/// ```
/// use std::time::Duration;
/// use race_core::{BoxTimer, Race, test::VirtualClock};
///
/// struct Client {
///     timer: BoxTimer,
/// }
///
/// let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
/// let client = Client { timer: BoxTimer::new(clock.timer()) };
/// let attempts = [100, 20].map(|latency| clock.sleep(ms(latency)));
/// let race = Race::at(client.timer.clone()).of(ms(50), attempts);
/// assert_eq!(clock.run(race.first())?.map(|won| won.elapsed), Some(ms(70)));
/// # Ok::<(), race_core::test::Deadlock>(())
/// ```
pub struct BoxTimer(Pin<Box<dyn CloneTimer>>);

impl BoxTimer {
    /// Boxes a timer. Allocates once.
    pub fn new<T>(timer: T) -> Self
    where
        T: Timer + Clone + Send + Sync + 'static,
    {
        Self(Box::pin(timer))
    }
}

/// A timer that clones itself into a box.
trait CloneTimer: Timer + Send + Sync {
    fn boxed(&self) -> Pin<Box<dyn CloneTimer>>;
}

impl<T: Timer + Clone + Send + Sync + 'static> CloneTimer for T {
    fn boxed(&self) -> Pin<Box<dyn CloneTimer>> {
        Box::pin(self.clone())
    }
}

impl Clone for BoxTimer {
    fn clone(&self) -> Self {
        // Of the timer in the box: the box has the same method, by way of `Pin`.
        Self((*self.0).boxed())
    }
}

impl Timer for BoxTimer {
    fn now(&self) -> Moment {
        self.0.now()
    }

    fn poll_until(mut self: Pin<&mut Self>, deadline: Moment, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll_until(deadline, cx)
    }

    fn disarm(mut self: Pin<&mut Self>) {
        self.0.as_mut().disarm();
    }
}

impl fmt::Debug for BoxTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoxTimer").finish_non_exhaustive()
    }
}
