use std::fmt;
use std::time::Duration;

/// The longest reason that the server accepts, in bytes.
const REASON: usize = 256;

/// How a delivery is given back: the delay, the reason, and whether it has failed.
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
    pub(crate) is_unharmed: bool,
}

impl Nack {
    /// The task is due after the server's backoff, which grows with each failure.
    #[must_use]
    pub fn backoff() -> Self {
        Self::default()
    }

    /// The task is due after this delay, rounded up to a millisecond.
    ///
    /// A server refuses a delay of more than its `max_delay_days` (10 years). This is logged as a
    /// warning, and the delivery fails at its ack timeout.
    #[must_use]
    pub fn after(delay: Duration) -> Self {
        Self {
            delay: Some(delay),
            ..Self::default()
        }
    }

    /// The delivery has not failed: it does not count for the task's `max_attempts`. Without a
    /// [delay](Self::after) other consumers get the task at once, and this one after the task's first
    /// backoff.
    ///
    /// For a consumer that is about to end, or is not the right one. From the eleventh time in a row on
    /// it counts. An older server takes every delivery that is given back for a failure.
    ///
    /// ```
    /// # use hyper_delay_client::Nack;
    /// let busy = Nack::backoff().unharmed().because("no worker is free");
    /// ```
    #[must_use]
    pub fn unharmed(mut self) -> Self {
        self.is_unharmed = true;
        self
    }

    /// Sets the reason, for this process's log and for operators: if this was the last attempt, the
    /// dead letter has it. The server receives the first line, at most 256 bytes.
    #[must_use]
    pub fn because(mut self, reason: impl fmt::Display) -> Self {
        self.reason = Some(reason.to_string());
        self
    }

    /// What the server receives of the reason.
    pub(crate) fn short_reason(&self) -> Option<&str> {
        let line = self.reason.as_deref()?.lines().next()?;
        let end = (0..=line.len().min(REASON)).rfind(|end| line.is_char_boundary(*end));
        Some(&line[..end.unwrap_or(0)]).filter(|reason| !reason.is_empty())
    }
}

/// Uses the server's backoff, with the error as the [reason](Nack::because).
///
/// `Nack` itself does not implement `Display`, as this implementation would conflict.
impl<E: fmt::Display> From<E> for Nack {
    fn from(error: E) -> Self {
        Self::backoff().because(error)
    }
}

#[cfg(test)]
mod tests {
    use super::Nack;

    #[test]
    fn the_server_receives_the_first_line_of_a_reason_cut_at_a_character() {
        let short = |reason: &str| Nack::from(reason).short_reason().map(str::to_owned);
        assert_eq!(short("no disk\nat all").as_deref(), Some("no disk"));
        assert_eq!(short(&"x".repeat(300)), Some("x".repeat(256)));
        assert_eq!(
            short(&format!("x{}", "ü".repeat(200))),
            Some(format!("x{}", "ü".repeat(127)))
        );
        assert_eq!(short(""), None);
        assert_eq!(short("\nmore"), None);
        assert_eq!(Nack::backoff().short_reason(), None);
    }
}
