use std::time::Duration;

/// How long to wait before each try to connect: doubling, up to a bound, drawn evenly from the upper
/// half ("equal jitter": Brooker, *Exponential Backoff And Jitter*, AWS Architecture Blog, 2015).
/// So clients that were cut off together do not come back together, and none comes back at once.
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

    /// The next wait. `draw` is from 0 to 1, at random.
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
