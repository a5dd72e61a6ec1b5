use std::time::Duration;

/// The wait before each connection attempt: doubled up to a bound and drawn evenly from its upper
/// half ("equal jitter": Brooker, *Exponential Backoff And Jitter*, AWS Architecture Blog, 2015).
/// Clients that lost one server thus do not all reconnect at the same moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    next: Duration,
    max: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, max: Duration) -> Self {
        Self {
            next: first.min(max),
            max,
        }
    }

    /// Returns the next wait. `draw` is random, from 0 to 1.
    pub(crate) fn next(&mut self, draw: f64) -> Duration {
        let half = self.next / 2;
        let wait = half + half.mul_f64(draw.clamp(0.0, 1.0));
        self.next = self.next.saturating_mul(2).min(self.max);
        wait
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Backoff;

    #[test]
    fn waits_double_to_the_bound_and_lie_in_the_upper_half() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new(ms(100), ms(500));
        let waits = [1.0, 0.0, 0.5, 1.0, 0.0].map(|draw| backoff.next(draw));
        assert_eq!(waits, [ms(100), ms(100), ms(300), ms(500), ms(250)]);
    }

    #[test]
    fn the_first_wait_obeys_the_bound() {
        let second = Duration::from_secs(1);
        assert_eq!(Backoff::new(second * 5, second).next(1.0), second);
    }
}
