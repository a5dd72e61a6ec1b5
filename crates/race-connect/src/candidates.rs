use std::{
    collections::{HashSet, VecDeque},
    net::SocketAddr,
    time::Duration,
};

use race_core::Moment;

use crate::Family;

/// The addresses of a host in the order in which to try them: a pure state machine.
///
/// It has no socket, no resolver and no clock. Its owner reports the answers of the resolver, asks
/// for the [`next`](Self::next) address whenever an attempt may start, and reports the address that
/// has [`started`](Self::started). It decides
///
/// - whether to wait for the answer of the preferred family, for the Resolution Delay (RFC 8305,
///   section 3);
/// - the order: the families alternate, after as many addresses of the first family as the First
///   Address Family Count (section 4). Each family keeps the order of the resolver. The families
///   also alternate with addresses that arrive late.
///
/// *When* an attempt may start is decided elsewhere, by a [`Stagger`](race_core::Stagger).
///
/// ```
/// use std::time::Duration;
/// use race_connect::{Candidates, Next};
/// use race_core::Moment;
///
/// let at = |millis| Moment::from(Duration::from_millis(millis));
/// let v4 = "192.0.2.1:443".parse().unwrap();
/// let v6 = "[2001:db8::1]:443".parse().unwrap();
///
/// let mut candidates = Candidates::new(Duration::from_millis(50));
/// assert_eq!(candidates.next(at(0)), Next::Wait);
/// candidates.add([v4], at(10)); // A before AAAA
/// assert_eq!(candidates.next(at(10)), Next::Until(at(60)));
/// candidates.add([v6], at(30));
/// assert_eq!(candidates.next(at(30)), Next::Start(v6));
/// candidates.started(v6);
/// assert_eq!(candidates.next(at(30)), Next::Start(v4));
/// ```
#[derive(Clone, Debug)]
pub struct Candidates {
    resolution_delay: Duration,
    first_family_count: usize,
    preferred: Option<Family>,
    v4: Addresses,
    v6: Addresses,
    /// The end of the Resolution Delay, which begins with the first addresses.
    delay_ends: Option<Moment>,
    /// The family of the first address of the first answer, if that has both families.
    sorted_first: Option<Family>,
    /// Every address that was added and not withdrawn, in its canonical form.
    known: HashSet<SocketAddr>,
    /// The family that started last, and how many more of it come before the other.
    turn: Option<(Family, usize)>,
}

#[derive(Clone, Debug, Default)]
struct Addresses {
    waiting: VecDeque<SocketAddr>,
    has_ended: bool,
}

/// The answer of [`Candidates::next`], and of `next` of [`v3::Endpoints`](crate::v3::Endpoints).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next<A> {
    /// Connect to this address or endpoint when an attempt may start.
    Start(A),
    /// Wait for an answer of the resolver, at most until this moment.
    Until(Moment),
    /// Wait for an answer of the resolver.
    Wait,
    /// There are no more addresses.
    Over,
}

impl Candidates {
    /// Creates a list without addresses.
    #[must_use]
    pub fn new(resolution_delay: Duration) -> Self {
        Self {
            resolution_delay,
            first_family_count: 1,
            preferred: None,
            v4: Addresses::default(),
            v6: Addresses::default(),
            delay_ends: None,
            sorted_first: None,
            known: HashSet::new(),
            turn: None,
        }
    }

    /// Sets how many addresses of the preferred family come before one of the other family.
    /// Default: 1; 0 means 1. It does not apply if the preferred family arrives too late to be the
    /// first.
    #[must_use]
    pub fn first_family_count(mut self, count: usize) -> Self {
        self.first_family_count = count.max(1);
        self
    }

    /// Sets the family that comes first. Default: that of the first address, if one answer of the
    /// resolver has addresses of both families, which it has sorted; IPv6 otherwise.
    #[must_use]
    pub fn prefer(mut self, family: Option<Family>) -> Self {
        self.preferred = family;
        self
    }

    /// Adds addresses that arrived at `now`. Those that are known already are ignored. An IPv4
    /// address and its form mapped into IPv6 are the same address.
    pub fn add(&mut self, addresses: impl IntoIterator<Item = SocketAddr>, now: Moment) {
        let mut families = Vec::new();
        for address in addresses {
            if !self.known.insert(canonical(address)) {
                continue;
            }
            let family = Family::of(&address);
            self.of(family).waiting.push_back(address);
            families.push(family);
        }
        let Some(&first) = families.first() else {
            return;
        };
        if self.delay_ends.is_none() {
            self.delay_ends = Some(now + self.resolution_delay);
            if families.contains(&first.other()) {
                self.sorted_first = Some(first);
            }
        }
    }

    /// Reports that a family has no more addresses. Addresses that are added nevertheless count.
    pub fn end(&mut self, family: Family) {
        self.of(family).has_ended = true;
    }

    /// Takes an address out. If it has started, that does not change, but it may be added again.
    pub fn withdraw(&mut self, address: SocketAddr) {
        self.known.remove(&canonical(address));
        self.remove(address);
    }

    /// Returns the address to start now, or how long to wait for one. It may change until an
    /// attempt starts: a better address may arrive, or the address may be withdrawn.
    #[must_use]
    pub fn next(&self, now: Moment) -> Next<SocketAddr> {
        let Some((family, address)) = self.next_address() else {
            return match self.v4.has_ended && self.v6.has_ended {
                true => Next::Over,
                false => Next::Wait,
            };
        };
        match self.delay_ends {
            Some(ends) if self.turn.is_none() && self.awaits_preferred(family) && now < ends => {
                Next::Until(ends)
            }
            _ => Next::Start(address),
        }
    }

    /// Reports that an attempt of this address starts. Then it is the turn of the next one. An
    /// address that does not wait for its start takes no turn, and is not given out later.
    pub fn started(&mut self, address: SocketAddr) {
        self.known.insert(canonical(address));
        if !self.remove(address) {
            return;
        }
        let family = Family::of(&address);
        let left = match self.turn {
            None if family == self.first_family() => self.first_family_count - 1,
            Some((last, left)) if last == family => left.saturating_sub(1),
            None | Some(_) => 0,
        };
        self.turn = Some((family, left));
    }

    pub(crate) fn has_ended(&self, family: Family) -> bool {
        self.addresses(family).has_ended
    }

    /// Removes an address from those that wait. Returns whether it was there.
    fn remove(&mut self, address: SocketAddr) -> bool {
        let canonical_form = canonical(address);
        let waiting = &mut self.of(Family::of(&address)).waiting;
        let place = waiting
            .iter()
            .position(|it| canonical(*it) == canonical_form);
        place.and_then(|place| waiting.remove(place)).is_some()
    }

    /// The address whose turn it is, and its family.
    fn next_address(&self) -> Option<(Family, SocketAddr)> {
        let wanted = match self.turn {
            None => self.first_family(),
            Some((first, left)) if left > 0 => first,
            Some((last, _)) => last.other(),
        };
        let next = |family: Family| {
            let address = self.addresses(family).waiting.front();
            address.map(|address| (family, *address))
        };
        next(wanted).or_else(|| next(wanted.other()))
    }

    fn first_family(&self) -> Family {
        let sorted = self.preferred.or(self.sorted_first);
        sorted.unwrap_or(Family::V6)
    }

    /// Whether addresses of a better family than this one may still arrive.
    fn awaits_preferred(&self, family: Family) -> bool {
        let first = self.first_family();
        family != first && !self.addresses(first).has_ended && self.sorted_first.is_none()
    }

    fn addresses(&self, family: Family) -> &Addresses {
        match family {
            Family::V4 => &self.v4,
            Family::V6 => &self.v6,
        }
    }

    fn of(&mut self, family: Family) -> &mut Addresses {
        match family {
            Family::V4 => &mut self.v4,
            Family::V6 => &mut self.v6,
        }
    }
}

/// The form in which an IPv4 address is not mapped into IPv6.
fn canonical(mut address: SocketAddr) -> SocketAddr {
    if let Family::V4 = Family::of(&address) {
        address.set_ip(address.ip().to_canonical());
    }
    address
}

#[cfg(test)]
mod tests;
