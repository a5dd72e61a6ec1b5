//! Limits the connections of each address, so that one cannot take all places.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hyper_delay_protocol::access::network;

/// The places of a limited number of connections. Clones share them.
///
/// Programs on this machine may take every place. The others may take all but the places that are
/// kept for this machine, and each of their addresses at most half of what the rest of them leave,
/// at least one: 16 of 32, then 8, 4, and so on. An IPv6 address stands for its network of 64 bits.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionLimiter(Arc<Mutex<LimiterState>>);

#[derive(Debug, Default)]
struct LimiterState {
    size: usize,
    /// Places that only this machine may take.
    local_only: usize,
    taken: usize,
    /// The places that other addresses have taken, and their sum.
    remote: HashMap<IpAddr, usize>,
    remote_total: usize,
}

/// A place that an address has taken. Free again when dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    limiter: ConnectionLimiter,
    /// `None`: it is of this machine.
    network: Option<IpAddr>,
}

/// The reason why an address gets no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitReached {
    /// No place is left for it: this many are taken.
    Full(usize),
    /// It has taken its whole share, which is this many.
    TooMany(usize),
}

impl ConnectionLimiter {
    /// Places for `size` connections, of which `local_only` are kept for this machine.
    pub(crate) fn new(size: usize, local_only: usize) -> Self {
        let limiter = Self::default();
        limiter.resize(size, local_only);
        limiter
    }

    /// Changes the number of places. Those that are taken stay so.
    pub(crate) fn resize(&self, size: usize, local_only: usize) {
        let mut state = self.state();
        (state.size, state.local_only) = (size, local_only);
    }

    /// Takes a place.
    ///
    /// # Errors
    ///
    /// If the address may not have another one.
    pub(crate) fn acquire(&self, address: IpAddr) -> Result<ConnectionPermit, LimitReached> {
        let mut state = self.state();
        state.check(address)?;
        state.taken += 1;
        let network = (!address.is_loopback()).then(|| network(address));
        if let Some(network) = network {
            state.remote_total += 1;
            *state.remote.entry(network).or_default() += 1;
        }
        Ok(ConnectionPermit {
            limiter: self.clone(),
            network,
        })
    }

    /// Returns why an address would get no place now.
    pub(crate) fn check(&self, address: IpAddr) -> Result<(), LimitReached> {
        self.state().check(address)
    }

    fn state(&self) -> MutexGuard<'_, LimiterState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LimiterState {
    fn check(&self, address: IpAddr) -> Result<(), LimitReached> {
        if self.taken >= self.size {
            return Err(LimitReached::Full(self.taken));
        }
        if address.is_loopback() {
            return Ok(());
        }
        let places = self.size - self.local_only.min(self.size);
        if self.remote_total >= places {
            return Err(LimitReached::Full(self.taken));
        }
        let own = self.remote.get(&network(address)).copied().unwrap_or(0);
        let share = ((places - (self.remote_total - own)) / 2).max(1);
        match own < share {
            true => Ok(()),
            false => Err(LimitReached::TooMany(own)),
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut state = self.limiter.state();
        state.taken -= 1;
        let Some(network) = self.network else {
            return;
        };
        state.remote_total -= 1;
        if let Some(own) = state.remote.get_mut(&network) {
            *own -= 1;
            if *own == 0 {
                state.remote.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// Takes all places that an address gets.
    fn take_all(
        limiter: &ConnectionLimiter,
        address: &str,
    ) -> (Vec<ConnectionPermit>, LimitReached) {
        let mut taken = Vec::new();
        loop {
            match limiter.acquire(ip(address)) {
                Ok(permit) => taken.push(permit),
                Err(why) => return (taken, why),
            }
        }
    }

    #[test]
    fn each_address_gets_half_of_what_the_others_leave() {
        let limiter = ConnectionLimiter::new(32, 8);
        let (first, why) = take_all(&limiter, "192.0.2.1");
        assert_eq!((first.len(), why), (12, LimitReached::TooMany(12)));
        let (second, _) = take_all(&limiter, "192.0.2.2");
        assert_eq!(second.len(), 6);
        let others: Vec<_> = (3..9)
            .map(|number| take_all(&limiter, &format!("192.0.2.{number}")))
            .collect();
        let counts: Vec<usize> = others.iter().map(|(taken, _)| taken.len()).collect();
        assert_eq!(counts, [3, 1, 1, 1, 0, 0]);
        assert_eq!(others[5].1, LimitReached::Full(24));
        drop(second);
        assert_eq!(take_all(&limiter, "192.0.2.9").0.len(), 3);
    }

    #[test]
    fn this_machine_always_has_places_that_others_cannot_take() {
        for (size, local_only) in [(32, 8), (4, 1), (1, 1)] {
            let limiter = ConnectionLimiter::new(size, local_only);
            let remote: Vec<_> = (0..250)
                .map(|number| take_all(&limiter, &format!("192.0.2.{number}")).0)
                .collect();
            assert_eq!(remote.iter().flatten().count(), size - local_only);
            let (here, why) = take_all(&limiter, "127.0.0.1");
            assert_eq!((here.len(), why), (local_only, LimitReached::Full(size)));
        }
    }

    #[test]
    fn this_machine_may_take_every_place() {
        let limiter = ConnectionLimiter::new(5, 1);
        let (here, _) = take_all(&limiter, "::1");
        assert_eq!(here.len(), 5);
        assert_eq!(limiter.check(ip("192.0.2.1")), Err(LimitReached::Full(5)));
        drop(here);
        assert_eq!(limiter.check(ip("192.0.2.1")), Ok(()));
    }

    #[test]
    fn addresses_of_one_network_share_and_one_place_is_the_least() {
        let limiter = ConnectionLimiter::new(2, 1);
        let one = limiter.acquire(ip("2001:db8::1")).unwrap();
        assert_eq!(limiter.check(ip("2001:db8::2")), Err(LimitReached::Full(1)));
        drop(one);
        assert!(limiter.state().remote.is_empty());
        let limiter = ConnectionLimiter::new(4, 0);
        let _two = [(); 2].map(|()| limiter.acquire(ip("2001:db8::1")).unwrap());
        assert_eq!(
            limiter.check(ip("2001:db8::2")),
            Err(LimitReached::TooMany(2))
        );
        assert_eq!(limiter.check(ip("2001:db8:0:1::2")), Ok(()));
    }

    #[test]
    fn fewer_places_leave_those_that_are_taken() {
        let limiter = ConnectionLimiter::new(8, 0);
        let (taken, _) = take_all(&limiter, "192.0.2.1");
        limiter.resize(2, 0);
        assert_eq!(limiter.check(ip("192.0.2.2")), Err(LimitReached::Full(4)));
        drop(taken);
        assert_eq!(limiter.check(ip("192.0.2.2")), Ok(()));
    }
}
