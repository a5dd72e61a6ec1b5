//! What the registrations of a connection ask for beside a route.

use std::collections::BTreeMap;

use hyper_delay_protocol::Accept;

/// The number of a registration that asks for something.
pub(super) type WishId = u64;

/// The credit of a connection, and the compressions that it accepts. Each counts from the reply to the
/// registration that asked for it; of several, the one that was sent last. A registration that fails
/// changes neither.
#[derive(Debug)]
pub(super) struct Wishes {
    credit: Granted<u16>,
    accept: Granted<Accept>,
    /// Those without a reply.
    asked: BTreeMap<WishId, Wish>,
    last: WishId,
}

#[derive(Debug, Clone, Copy)]
struct Wish {
    credit: Option<u16>,
    accept: Option<Accept>,
}

/// What counts, and which registration has asked for it.
#[derive(Debug)]
struct Granted<T> {
    value: T,
    by: WishId,
}

impl<T> Granted<T> {
    const fn initial(value: T) -> Self {
        Self { value, by: 0 }
    }

    fn grant(&mut self, by: WishId, value: Option<T>) {
        if let Some(value) = value
            && by > self.by
        {
            *self = Self { value, by };
        }
    }
}

impl Wishes {
    /// Those of a connection that has this credit, and has asked for nothing.
    pub(super) fn new(credit: u16) -> Self {
        Self {
            credit: Granted::initial(credit),
            accept: Granted::initial(Accept::default()),
            asked: BTreeMap::new(),
            last: 0,
        }
    }

    /// A registration asks for this. `None` if it asks for nothing.
    pub(super) fn ask(&mut self, credit: Option<u16>, accept: Option<Accept>) -> Option<WishId> {
        if credit.is_none() && accept.is_none() {
            return None;
        }
        self.last += 1;
        self.asked.insert(self.last, Wish { credit, accept });
        Some(self.last)
    }

    /// The registration has succeeded.
    pub(super) fn grant(&mut self, id: WishId) {
        if let Some(wish) = self.asked.remove(&id) {
            self.credit.grant(id, wish.credit);
            self.accept.grant(id, wish.accept);
        }
    }

    /// The registration has failed.
    pub(super) fn refuse(&mut self, id: WishId) {
        self.asked.remove(&id);
    }

    /// The credit that counts.
    pub(super) const fn credit(&self) -> u16 {
        self.credit.value
    }

    /// The most that may be in flight. A leader can deliver as soon as it has registered a route, so
    /// a lower credit holds from when it is asked for.
    pub(super) fn usable(&self) -> u16 {
        let later = self.asked.range(self.credit.by + 1..);
        let asked = later.filter_map(|(_, wish)| wish.credit).min();
        asked.map_or(self.credit(), |asked| asked.min(self.credit()))
    }

    pub(super) const fn accept(&self) -> Accept {
        self.accept.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_registrations_the_one_that_was_sent_last_counts() {
        let mut wishes = Wishes::new(10);
        assert_eq!(wishes.ask(None, None), None);
        let mut ask = |credit| wishes.ask(Some(credit), None).unwrap();
        let (first, second, third) = (ask(3), ask(20), ask(5));
        assert_eq!((wishes.credit(), wishes.usable()), (10, 3));
        wishes.grant(second);
        assert_eq!((wishes.credit(), wishes.usable()), (20, 5));
        wishes.grant(first);
        assert_eq!((wishes.credit(), wishes.usable()), (20, 5));
        wishes.refuse(third);
        assert_eq!((wishes.credit(), wishes.usable()), (20, 20));
    }
}
