use alloc::vec::Vec;
use core::pin::Pin;

use crate::{
    Hook,
    attempts::AttemptSet,
    observe::EventKind,
    race::{GenericRace, Placement},
    source::Source,
};

impl<K, S, T, P, H> GenericRace<K, S, T, P, H>
where
    K: Placement,
    K::Set<S::Attempt, (S::Arg, usize)>: AttemptSet<S::Attempt, (S::Arg, usize)> + Unpin,
    S: Source,
    H: Hook,
{
    /// Cancels the running attempts and returns their arguments, in no particular order.
    ///
    /// After a win, [`keep_race`](crate::Decision::keep_race) gives the race to call this on.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use race_core::{Race, test::VirtualClock};
    /// # let (clock, ms) = (VirtualClock::new(), Duration::from_millis);
    /// let connect = |address: &String| {
    ///     let latency = clock.sleep(ms(address.len() as u64));
    ///     async { Ok::<_, std::io::Error>(latency.await) }
    /// };
    /// let addresses = ["one.example", "two.dk"].map(String::from);
    /// let race = Race::at(clock.timer()).new(ms(1), connect, addresses);
    /// let (answer, race) = clock.run(race.first_ok().keep_race())?;
    /// assert_eq!(answer?.arg, "two.dk");
    /// assert_eq!(race.into_args(), ["one.example"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn into_args(mut self) -> Vec<S::Arg> {
        let mut args = Vec::with_capacity(self.attempts.len());
        while let Some((arg, index)) = Pin::new(&mut self.attempts).remove(|_| true) {
            self.schedule.hooks.ended(index, EventKind::Cancelled);
            args.push(arg);
        }
        args
    }
}
