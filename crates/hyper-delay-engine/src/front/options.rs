//! The options of registrations: the credit and the compressions of a connection.

use std::collections::BTreeMap;

use hyper_delay_protocol::Accept;

/// The number of a registration that asks for something.
pub(super) type OptionsId = u64;

/// The credit of a connection, and the compressions that it accepts. Each counts from the reply to the
/// registration that asked for it; of several, the one that was sent last. A registration that fails
/// changes neither.
#[derive(Debug)]
pub(super) struct RegistrationOptions {
    credit: EffectiveOption<u16>,
    accept: EffectiveOption<Accept>,
    /// Those without a reply.
    requested: BTreeMap<OptionsId, RequestedOptions>,
    last: OptionsId,
}

#[derive(Debug, Clone, Copy)]
struct RequestedOptions {
    credit: Option<u16>,
    accept: Option<Accept>,
}

/// The value in effect, and the registration that has requested it.
#[derive(Debug)]
struct EffectiveOption<T> {
    value: T,
    by: OptionsId,
}

impl<T> EffectiveOption<T> {
    const fn initial(value: T) -> Self {
        Self { value, by: 0 }
    }

    fn grant(&mut self, by: OptionsId, value: Option<T>) {
        if let Some(value) = value
            && by > self.by
        {
            *self = Self { value, by };
        }
    }
}

impl RegistrationOptions {
    /// Those of a connection that has this credit, and has asked for nothing.
    pub(super) fn new(credit: u16) -> Self {
        Self {
            credit: EffectiveOption::initial(credit),
            accept: EffectiveOption::initial(Accept::default()),
            requested: BTreeMap::new(),
            last: 0,
        }
    }

    /// A registration asks for this. `None` if it asks for nothing.
    pub(super) fn request(
        &mut self,
        credit: Option<u16>,
        accept: Option<Accept>,
    ) -> Option<OptionsId> {
        if credit.is_none() && accept.is_none() {
            return None;
        }
        self.last += 1;
        self.requested
            .insert(self.last, RequestedOptions { credit, accept });
        Some(self.last)
    }

    /// The registration has succeeded.
    pub(super) fn grant(&mut self, id: OptionsId) {
        if let Some(options) = self.requested.remove(&id) {
            self.credit.grant(id, options.credit);
            self.accept.grant(id, options.accept);
        }
    }

    /// The registration has failed.
    pub(super) fn refuse(&mut self, id: OptionsId) {
        self.requested.remove(&id);
    }

    /// The credit that counts.
    pub(super) const fn credit(&self) -> u16 {
        self.credit.value
    }

    /// The most that may be in flight. A leader can deliver as soon as it has registered a route, so
    /// a lower credit holds from when it is asked for.
    pub(super) fn credit_limit(&self) -> u16 {
        let later = self.requested.range(self.credit.by + 1..);
        let asked = later.filter_map(|(_, options)| options.credit).min();
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
        let mut options = RegistrationOptions::new(10);
        assert_eq!(options.request(None, None), None);
        let mut ask = |credit| options.request(Some(credit), None).unwrap();
        let (first, second, third) = (ask(3), ask(20), ask(5));
        assert_eq!((options.credit(), options.credit_limit()), (10, 3));
        options.grant(second);
        assert_eq!((options.credit(), options.credit_limit()), (20, 5));
        options.grant(first);
        assert_eq!((options.credit(), options.credit_limit()), (20, 5));
        options.refuse(third);
        assert_eq!((options.credit(), options.credit_limit()), (20, 20));
    }
}
