use std::fmt;
use std::time::Duration;

/// How a delivery is given back: when to come again, and why.
///
/// A handler's error is turned into one. Anything that can be displayed will do, and comes again
/// after the server's backoff; for a delay of your own, return a `Nack`:
///
/// ```
/// use std::time::Duration;
/// use hyper_delay_client::{Delivery, Nack};
///
/// async fn handle(delivery: Delivery) -> Result<(), Nack> {
///     let text = std::str::from_utf8(delivery.payload())?;
///     if text == "not yet" {
///         return Err(Nack::after(Duration::from_secs(60)).because("it is not ready"));
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nack {
    pub(crate) delay: Option<Duration>,
    pub(crate) reason: Option<String>,
}

impl Nack {
    /// Comes again after the server's backoff, which grows with each failure.
    #[must_use]
    pub fn backoff() -> Self {
        Self::default()
    }

    /// Comes again after this delay, rounded up to a millisecond.
    #[must_use]
    pub fn after(delay: Duration) -> Self {
        Self {
            delay: Some(delay),
            reason: None,
        }
    }

    /// Says why. It goes to this process's log, not to the server.
    #[must_use]
    pub fn because(mut self, reason: impl fmt::Display) -> Self {
        self.reason = Some(reason.to_string());
        self
    }
}

/// With the server's backoff, because of the error.
///
/// So that this can be, `Nack` itself cannot be displayed.
impl<E: fmt::Display> From<E> for Nack {
    fn from(error: E) -> Self {
        Self::backoff().because(error)
    }
}
