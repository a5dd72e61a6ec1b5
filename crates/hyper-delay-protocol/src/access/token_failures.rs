use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{Grant, Tokens};
use crate::secret::Secret;

/// The wait after the first failure; it doubles with each further one.
const FIRST: Duration = Duration::from_millis(100);

/// The longest wait.
const LONGEST: Duration = Duration::from_secs(5);

/// An address is forgotten this long after its last failure.
const LIFETIME: Duration = Duration::from_secs(600);

/// The most addresses that are remembered.
const MOST: usize = 4_096;

/// Addresses that gave wrong tokens, which wait before they get an answer.
///
/// An IPv6 address stands for its network of 64 bits, which one host can have for itself. The table
/// is bounded: if it is full, the address whose last failure is the longest ago is forgotten.
#[derive(Debug, Default)]
pub struct TokenFailures(Mutex<FailureTable>);

#[derive(Debug, Default)]
struct FailureTable {
    addresses: HashMap<IpAddr, AddressFailures>,
}

#[derive(Debug)]
struct AddressFailures {
    failures: u32,
    last: Instant,
}

impl TokenFailures {
    /// Returns the grant of a peer's secret.
    ///
    /// # Errors
    ///
    /// The time that the answer must wait, if it is not the secret of a token.
    pub fn check(
        &self,
        tokens: &Tokens,
        secret: Option<&Secret>,
        peer: IpAddr,
    ) -> Result<Arc<Grant>, Duration> {
        match secret.and_then(|secret| tokens.grant(secret)) {
            Some(grant) => {
                self.table().succeeded(peer);
                Ok(grant)
            }
            None => Err(self.table().failed(peer, Instant::now())),
        }
    }

    fn table(&self) -> MutexGuard<'_, FailureTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FailureTable {
    /// Records a failure, and returns how long its answer must wait.
    fn failed(&mut self, address: IpAddr, now: Instant) -> Duration {
        let network = network(address);
        if !self.addresses.contains_key(&network) {
            self.make_room(now);
        }
        let known = self.addresses.entry(network).or_insert(AddressFailures {
            failures: 0,
            last: now,
        });
        if now.duration_since(known.last) >= LIFETIME {
            known.failures = 0;
        }
        let wait = FIRST
            .saturating_mul(1 << known.failures.min(16))
            .min(LONGEST);
        known.failures = known.failures.saturating_add(1);
        known.last = now;
        wait
    }

    /// Forgets an address that gave a right token.
    fn succeeded(&mut self, address: IpAddr) {
        self.addresses.remove(&network(address));
    }

    fn make_room(&mut self, now: Instant) {
        if self.addresses.len() < MOST {
            return;
        }
        self.addresses
            .retain(|_, address| now.duration_since(address.last) < LIFETIME);
        if self.addresses.len() < MOST {
            return;
        }
        let oldest = self.addresses.iter().min_by_key(|(_, it)| it.last);
        if let Some((&oldest, _)) = oldest {
            self.addresses.remove(&oldest);
        }
    }
}

/// Returns the network of 64 bits of an IPv6 address, which one host can have for itself, or the
/// IPv4 address.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & (!0 << 64)).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let (mut failures, now) = (FailureTable::default(), Instant::now());
        let mut waits = (0..8).map(|_| failures.failed(ip("192.0.2.1"), now).as_millis());
        assert!(
            waits
                .by_ref()
                .eq([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
        );
        for _ in 0..100 {
            assert_eq!(failures.failed(ip("192.0.2.1"), now), LONGEST);
        }
        assert_eq!(failures.failed(ip("192.0.2.2"), now), FIRST);
    }

    #[test]
    fn success_and_time_forget_an_address() {
        let (mut failures, now) = (FailureTable::default(), Instant::now());
        failures.failed(ip("192.0.2.1"), now);
        failures.succeeded(ip("::ffff:192.0.2.1"));
        assert_eq!(failures.failed(ip("192.0.2.1"), now), FIRST);
        failures.failed(ip("192.0.2.1"), now);
        assert_eq!(failures.failed(ip("192.0.2.1"), now + LIFETIME), FIRST);
    }

    #[test]
    fn hosts_of_one_network_are_one() {
        let (mut failures, now) = (FailureTable::default(), Instant::now());
        failures.failed(ip("2001:db8:0:1::1"), now);
        assert_eq!(failures.failed(ip("2001:db8:0:1:ffff::2"), now), 2 * FIRST);
        assert_eq!(failures.failed(ip("2001:db8:0:2::1"), now), FIRST);
    }

    #[test]
    fn table_is_bounded_and_forgets_the_oldest() {
        let (mut failures, start) = (FailureTable::default(), Instant::now());
        let host = |number: u32| IpAddr::from(number.to_be_bytes());
        let at = |millis: u32| start + Duration::from_millis(millis.into());
        for number in 0..5_000 {
            failures.failed(host(number), at(number));
        }
        assert_eq!(failures.addresses.len(), MOST);
        assert_eq!(failures.failed(host(4_999), at(5_000)), 2 * FIRST);
        assert_eq!(failures.failed(host(0), at(5_000)), FIRST, "forgotten");
    }
}
