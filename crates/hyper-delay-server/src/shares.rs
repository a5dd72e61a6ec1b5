//! Shares of addresses in a limited number of connections, so that one cannot take all of them.

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
pub(crate) struct Shares(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    size: usize,
    /// Places that only this machine may take.
    local: usize,
    taken: usize,
    /// The places that other addresses have taken, and their sum.
    remote: HashMap<IpAddr, usize>,
    of_remote: usize,
}

/// A place that an address has taken. Free again when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    shares: Shares,
    /// `None`: it is of this machine.
    network: Option<IpAddr>,
}

/// Why an address gets no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoShare {
    /// No place is left for it: this many are taken.
    Full(usize),
    /// It has taken its whole share, which is this many.
    TooMany(usize),
}

impl Shares {
    /// Places for `size` connections, of which `local` are kept for this machine.
    pub(crate) fn new(size: usize, local: usize) -> Self {
        let shares = Self::default();
        shares.resize(size, local);
        shares
    }

    /// Changes the number of places. Those that are taken stay so.
    pub(crate) fn resize(&self, size: usize, local: usize) {
        let mut table = self.table();
        (table.size, table.local) = (size, local);
    }

    /// Takes a place.
    ///
    /// # Errors
    ///
    /// If the address may not have another one.
    pub(crate) fn take(&self, address: IpAddr) -> Result<Share, NoShare> {
        let mut table = self.table();
        table.check(address)?;
        table.taken += 1;
        let network = (!address.is_loopback()).then(|| network(address));
        if let Some(network) = network {
            table.of_remote += 1;
            *table.remote.entry(network).or_default() += 1;
        }
        Ok(Share {
            shares: self.clone(),
            network,
        })
    }

    /// Returns why an address would get no place now.
    pub(crate) fn check(&self, address: IpAddr) -> Result<(), NoShare> {
        self.table().check(address)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn check(&self, address: IpAddr) -> Result<(), NoShare> {
        if self.taken >= self.size {
            return Err(NoShare::Full(self.taken));
        }
        if address.is_loopback() {
            return Ok(());
        }
        let places = self.size - self.local.min(self.size);
        if self.of_remote >= places {
            return Err(NoShare::Full(self.taken));
        }
        let own = self.remote.get(&network(address)).copied().unwrap_or(0);
        let share = ((places - (self.of_remote - own)) / 2).max(1);
        match own < share {
            true => Ok(()),
            false => Err(NoShare::TooMany(own)),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut table = self.shares.table();
        table.taken -= 1;
        let Some(network) = self.network else {
            return;
        };
        table.of_remote -= 1;
        if let Some(own) = table.remote.get_mut(&network) {
            *own -= 1;
            if *own == 0 {
                table.remote.remove(&network);
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
    fn take_all(shares: &Shares, address: &str) -> (Vec<Share>, NoShare) {
        let mut taken = Vec::new();
        loop {
            match shares.take(ip(address)) {
                Ok(share) => taken.push(share),
                Err(why) => return (taken, why),
            }
        }
    }

    #[test]
    fn each_address_gets_half_of_what_the_others_leave() {
        let shares = Shares::new(32, 8);
        let (first, why) = take_all(&shares, "192.0.2.1");
        assert_eq!((first.len(), why), (12, NoShare::TooMany(12)));
        let (second, _) = take_all(&shares, "192.0.2.2");
        assert_eq!(second.len(), 6);
        let others: Vec<_> = (3..9)
            .map(|number| take_all(&shares, &format!("192.0.2.{number}")))
            .collect();
        let counts: Vec<usize> = others.iter().map(|(taken, _)| taken.len()).collect();
        assert_eq!(counts, [3, 1, 1, 1, 0, 0]);
        assert_eq!(others[5].1, NoShare::Full(24));
        drop(second);
        assert_eq!(take_all(&shares, "192.0.2.9").0.len(), 3);
    }

    #[test]
    fn this_machine_always_has_places_that_others_cannot_take() {
        for (size, local) in [(32, 8), (4, 1), (1, 1)] {
            let shares = Shares::new(size, local);
            let remote: Vec<_> = (0..250)
                .map(|number| take_all(&shares, &format!("192.0.2.{number}")).0)
                .collect();
            assert_eq!(remote.iter().flatten().count(), size - local);
            let (here, why) = take_all(&shares, "127.0.0.1");
            assert_eq!((here.len(), why), (local, NoShare::Full(size)));
        }
    }

    #[test]
    fn this_machine_may_take_every_place() {
        let shares = Shares::new(5, 1);
        let (here, _) = take_all(&shares, "::1");
        assert_eq!(here.len(), 5);
        assert_eq!(shares.check(ip("192.0.2.1")), Err(NoShare::Full(5)));
        drop(here);
        assert_eq!(shares.check(ip("192.0.2.1")), Ok(()));
    }

    #[test]
    fn addresses_of_one_network_share_and_one_place_is_the_least() {
        let shares = Shares::new(2, 1);
        let one = shares.take(ip("2001:db8::1")).unwrap();
        assert_eq!(shares.check(ip("2001:db8::2")), Err(NoShare::Full(1)));
        drop(one);
        assert!(shares.table().remote.is_empty());
        let shares = Shares::new(4, 0);
        let _two = [(); 2].map(|()| shares.take(ip("2001:db8::1")).unwrap());
        assert_eq!(shares.check(ip("2001:db8::2")), Err(NoShare::TooMany(2)));
        assert_eq!(shares.check(ip("2001:db8:0:1::2")), Ok(()));
    }

    #[test]
    fn fewer_places_leave_those_that_are_taken() {
        let shares = Shares::new(8, 0);
        let (taken, _) = take_all(&shares, "192.0.2.1");
        shares.resize(2, 0);
        assert_eq!(shares.check(ip("192.0.2.2")), Err(NoShare::Full(4)));
        drop(taken);
        assert_eq!(shares.check(ip("192.0.2.2")), Ok(()));
    }
}
