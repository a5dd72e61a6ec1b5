use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use race_core::Moment;

use crate::Family;

/// The addresses of a host in the order in which to try them: a pure state machine.
///
/// It has no socket, no resolver and no clock. Its owner reports the answers of the resolver, and
/// asks [`next`](Self::next) for an address whenever an attempt may start. It decides
///
/// - whether to wait for the answer of the preferred family, for the Resolution Delay (RFC 8305,
///   section 3);
/// - the order: the families alternate, after as many addresses of the first family as the First
///   Address Family Count (section 4). Each family keeps the order of the resolver. Addresses that
///   arrive late are inserted among those that have not been given out.
///
/// *When* an attempt may start is decided elsewhere, by a [`Stagger`](race_core::Stagger).
///
/// ```
/// use std::time::Duration;
/// use race_connect::{Candidates, NextAddress};
/// use race_core::Moment;
///
/// let at = |millis| Moment::from(Duration::from_millis(millis));
/// let v4 = "192.0.2.1:443".parse().unwrap();
/// let v6 = "[2001:db8::1]:443".parse().unwrap();
///
/// let mut candidates = Candidates::new(Duration::from_millis(50));
/// assert_eq!(candidates.next(at(0)), NextAddress::Wait);
/// candidates.add([v4], at(10)); // A before AAAA
/// assert_eq!(candidates.next(at(10)), NextAddress::Until(at(60)));
/// candidates.add([v6], at(30));
/// assert_eq!(candidates.next(at(30)), NextAddress::Start(v6));
/// assert_eq!(candidates.next(at(30)), NextAddress::Start(v4));
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
    /// Every address that was added and not withdrawn.
    known: Vec<SocketAddr>,
    /// What was given out last, and how many more of the first family come first.
    turn: Option<(Family, usize)>,
    /// The turn before the address that was given out last.
    turn_before: Option<(Family, usize)>,
}

#[derive(Clone, Debug, Default)]
struct Addresses {
    waiting: VecDeque<SocketAddr>,
    has_ended: bool,
}

/// The answer of [`Candidates::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NextAddress {
    /// Connect to this address when an attempt may start.
    Start(SocketAddr),
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
            known: Vec::new(),
            turn: None,
            turn_before: None,
        }
    }

    /// Sets how many addresses of the first family come before one of the other family.
    /// Default: 1; 0 means 1.
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

    /// Adds addresses that arrived at `now`. Those that are known already are ignored.
    pub fn add(&mut self, addresses: impl IntoIterator<Item = SocketAddr>, now: Moment) {
        let mut families = Vec::new();
        for address in addresses {
            if self.known.contains(&address) {
                continue;
            }
            let family = Family::of(&address);
            self.known.push(address);
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

    /// Reports that a family has no more addresses.
    pub fn end(&mut self, family: Family) {
        self.of(family).has_ended = true;
    }

    /// Takes an address out. If it was given out, nothing changes, but it may be added again.
    pub fn withdraw(&mut self, address: SocketAddr) {
        self.known.retain(|known| *known != address);
        let waiting = &mut self.of(Family::of(&address)).waiting;
        waiting.retain(|waiting| *waiting != address);
    }

    /// Gives out the next address.
    pub fn next(&mut self, now: Moment) -> NextAddress {
        let Some((family, address)) = self.next_address() else {
            return match self.v4.has_ended && self.v6.has_ended {
                true => NextAddress::Over,
                false => NextAddress::Wait,
            };
        };
        if let (None, Some(ends)) = (self.turn, self.delay_ends) {
            if self.awaits_preferred(family) && now < ends {
                return NextAddress::Until(ends);
            }
        }
        let left = match self.turn {
            None => self.first_family_count - 1,
            Some((last, left)) if last == family => left.saturating_sub(1),
            Some(_) => 0,
        };
        self.of(family).waiting.pop_front();
        self.turn_before = self.turn.replace((family, left));
        NextAddress::Start(address)
    }

    /// Decides again about the address that was given out last and has not started: a better one
    /// may have arrived, or it was withdrawn. Returns what to start instead, which may be the same;
    /// `None` if nothing is there.
    pub fn reconsider(&mut self, address: SocketAddr, now: Moment) -> Option<SocketAddr> {
        if self.known.contains(&address) {
            if self.turn_before.is_none() {
                return Some(address); // the first, after the Resolution Delay
            }
            let waiting = &mut self.of(Family::of(&address)).waiting;
            waiting.retain(|waiting| *waiting != address); // it was withdrawn and added again
            waiting.push_front(address);
        }
        self.turn = self.turn_before;
        match self.next(now) {
            NextAddress::Start(next) => Some(next),
            _ => None,
        }
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

#[cfg(test)]
mod tests;
