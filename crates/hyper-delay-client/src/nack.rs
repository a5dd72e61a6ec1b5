use std::fmt;
use std::time::Duration;

/// How a delivery is given back: the delay and the reason.
///
/// A handler's error converts into it. Any error that implements `Display` uses the server's
/// backoff; return a `Nack` to set the delay:
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
    /// The task is due after the server's backoff, which grows with each failure.
    #[must_use]
    pub fn backoff() -> Self {
        Self::default()
    }

    /// The task is due after this delay, rounded up to a millisecond.
    #[must_use]
    pub fn after(delay: Duration) -> Self {
        Self {
            delay: Some(delay),
            reason: None,
        }
    }

    /// Sets the reason for this process's log. The server does not receive it.
    #[must_use]
    pub fn because(mut self, reason: impl fmt::Display) -> Self {
        self.reason = Some(reason.to_string());
        self
    }
}

/// Uses the server's backoff, with the error as the reason.
///
/// `Nack` itself does not implement `Display`, as this implementation would conflict.
impl<E: fmt::Display> From<E> for Nack {
    fn from(error: E) -> Self {
        Self::backoff().because(error)
    }
}
