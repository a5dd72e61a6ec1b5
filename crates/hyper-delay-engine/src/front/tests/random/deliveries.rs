//! The deliveries of the connections.

use std::rc::Rc;

use super::*;

impl World {
    /// The time of a delivery is extended that a touch has named.
    pub(super) fn extend(&mut self, connection: ConsumerId) {
        let id: Arc<str> = (*self.random.choice(&IDS).unwrap()).into();
        let until = self.now + self.random.u64(0..80);
        let named = DeliverySelector {
            id: id.clone(),
            route: None,
            attempt: self.random.bool().then(|| self.random.u32(1..3)),
        };
        let is_extended = self.front.extend(connection, &named, until).is_some();
        let in_flight = self.model.in_flight(connection, &id);
        let in_flight = in_flight.filter(|it| {
            let attempt = it.delivery.attempt;
            named.attempt.is_none_or(|named| named == attempt)
        });
        assert_eq!(is_extended, in_flight.is_some());
        if let Some(in_flight) = in_flight {
            in_flight.delivery.until = in_flight.delivery.until.max(until);
        }
    }

    pub(super) fn lose(&mut self, connection: ConsumerId) {
        let id: Arc<str> = (*self.random.choice(&IDS).unwrap()).into();
        let is_of_it = self.random.u8(0..4) > 0;
        let in_flight = self.model.in_flight(connection, &id);
        let Some(in_flight) = in_flight else {
            return self.front.lose(connection, &id, 0);
        };
        in_flight.delivery.is_lost |= is_of_it;
        let other = u64::from(!is_of_it) * 1_000_000;
        let seq = in_flight.delivery.seq + other;
        self.front.lose(connection, &id, seq);
    }

    /// A delivery is not to be sent any more, if it is not yet.
    pub(super) fn revoke(&mut self) {
        let queued = self
            .model
            .sent
            .iter()
            .filter(|it| it.state == State::Queued);
        let queued: Vec<_> = queued.collect();
        if let Some(queued) = self.random.choice(&queued) {
            queued.delivery.origin.is_revoked.set(true);
        }
    }

    pub(super) fn deliver(&mut self, connection: ConsumerId) {
        let id: Arc<str> = (*self.random.choice(&IDS).unwrap()).into();
        let until = self.now + self.random.u64(1..60);
        self.seq += u64::from(self.random.bool());
        let delivery = Delivery {
            route: (*self.random.choice(&ROUTES).unwrap()).into(),
            seq: self.seq,
            due: 3,
            attempt: self.random.u32(1..3),
            until,
            write_by: Tick::new(until.value() - 1),
            is_lost: false,
            origin: Place {
                is_revoked: Rc::default(),
                expires: self
                    .random
                    .bool()
                    .then(|| self.now + self.random.u64(1..60)),
            },
        };
        let now = self.now;
        let has_too_many = self.has_too_many(connection, 1);
        let admission = self.front.deliver(connection, &id, delivery.clone(), now);
        let takes_more =
            self.model.open.contains(&connection) && !self.model.closing.contains(&connection);
        let confuses = self.model.of(connection, &id).any(|it| {
            it.state == State::Sent && {
                let it = &it.delivery;
                it.seq != delivery.seq
                    && (&it.route, it.attempt) == (&delivery.route, delivery.attempt)
            }
        });
        if !takes_more || confuses || has_too_many {
            return assert_eq!(admission, Admission::Void);
        }
        let before = self.model.in_flight(connection, &id);
        let is_queued = before
            .as_ref()
            .is_some_and(|it| it.delivery.until > now && it.delivery.route != delivery.route);
        if let Some(before) = before.filter(|_| !is_queued) {
            before.end();
        }
        let accept = self.model.accept(connection);
        let expected = match is_queued {
            true => Admission::Queued,
            false => Admission::Send(accept),
        };
        assert_eq!(admission, expected);
        let state = if is_queued {
            State::Queued
        } else {
            State::Sent
        };
        self.model.sent.push(Sent {
            connection,
            id,
            delivery,
            state,
            is_in_flight: !is_queued,
        });
    }

    /// Whether `more` deliveries would exceed the credit of a connection that has lowered it.
    fn has_too_many(&self, connection: ConsumerId, more: usize) -> bool {
        let limit = self.model.credit_limit(connection);
        let sent = self.model.sent.iter();
        let in_flight = sent.filter(|it| {
            it.connection == connection && it.is_in_flight && it.delivery.until > self.now
        });
        self.loans.lent(connection) > limit && in_flight.count() + more > usize::from(limit)
    }

    pub(super) fn ack(&mut self, connection: ConsumerId) {
        let id: Arc<str> = (*self.random.choice(&IDS).unwrap()).into();
        let named = DeliverySelector {
            id: id.clone(),
            route: self
                .random
                .bool()
                .then(|| (*self.random.choice(&ROUTES).unwrap()).into()),
            attempt: self.random.bool().then(|| self.random.u32(1..3)),
        };
        let found = self.front.ack(connection, &named, self.now);
        self.end_overdue(found.as_ref());
        let matches = |it: &&mut Sent| {
            let delivery = &it.delivery;
            it.state == State::Sent
                && named.route.as_ref().is_none_or(|it| *it == delivery.route)
                && named.attempt.is_none_or(|it| it == delivery.attempt)
        };
        let expected = self.model.of(connection, &id).filter(matches).last();
        let answered = expected.map(|it| {
            it.state = State::Done;
            it.is_in_flight = false;
            (it.delivery.seq, it.delivery.attempt)
        });
        let found = found.map(|it| (it.seq, it.attempt));
        assert_eq!(found, answered, "{named:?}");
        self.release(connection, &id);
    }

    /// When the front looks for those whose time has passed is its own matter. One was `answered`.
    pub(super) fn end_overdue(&mut self, answered: Option<&Delivery<Place>>) {
        for it in &mut self.model.sent {
            if it.is_in_flight && it.delivery.until <= self.now {
                let of_front = self.front.in_flight_of(it.connection, &it.id);
                let is_answered = answered.is_some_and(|answered| {
                    Rc::ptr_eq(&answered.origin.is_revoked, &it.delivery.origin.is_revoked)
                });
                if of_front.is_none() && !is_answered {
                    it.end();
                }
            }
        }
    }

    /// A late nack changes nothing.
    pub(super) fn nack(&mut self, connection: ConsumerId) {
        let id: Arc<str> = (*self.random.choice(&IDS).unwrap()).into();
        let named = DeliverySelector {
            id: id.clone(),
            route: None,
            attempt: self.random.bool().then(|| self.random.u32(1..3)),
        };
        let given_back = self.front.nack(connection, &named, None, self.now).unwrap();
        let answered = given_back.as_ref().filter(|it| !it.was_late);
        self.end_overdue(answered.map(|it| &it.delivery));
        let matches = |it: &&mut Sent| {
            it.state == State::Sent
                && named
                    .attempt
                    .is_none_or(|attempt| attempt == it.delivery.attempt)
        };
        let now = self.now;
        let latest = self.model.of(connection, &id).filter(matches).last();
        assert_eq!(given_back.is_some(), latest.is_some(), "{named:?}");
        let (Some(given_back), Some(latest)) = (given_back, latest) else {
            return;
        };
        assert_eq!(given_back.delivery.seq, latest.delivery.seq);
        assert!(given_back.was_late || latest.is_in_flight || latest.delivery.until <= now);
        if !given_back.was_late {
            latest.state = State::Done;
            latest.is_in_flight = false;
            self.release(connection, &id);
        }
    }

    pub(super) fn not_sent(&mut self, connection: ConsumerId) {
        let id: Arc<str> = (*self.random.choice(&IDS).unwrap()).into();
        let Some(in_flight) = self.model.in_flight(connection, &id) else {
            return;
        };
        let seq = in_flight.delivery.seq;
        in_flight.state = State::Done;
        in_flight.is_in_flight = false;
        let removed = self.front.remove_unsent(connection, &id, seq, None);
        assert!(removed.is_some());
        self.release(connection, &id);
    }

    pub(super) fn release(&mut self, connection: ConsumerId, id: &Arc<str>) {
        let now = self.now;
        let released = self.front.release(connection, id, now);
        let is_free = self.model.in_flight(connection, id).is_none();
        let is_of_id = |it: &Sent| (it.connection, &it.id) == (connection, id);
        let waits = |it: &Sent| is_free && is_of_id(it) && it.state == State::Queued;
        let is_revoked = |it: &Sent| it.delivery.origin.is_revoked.get();
        let next = |it: &Sent| waits(it) && !is_revoked(it);
        let next = self.model.sent.iter().position(next);
        // Those before it that are revoked are dropped.
        let before = self.model.sent.iter_mut();
        for dropped in before.take(next.unwrap_or(usize::MAX)) {
            if waits(dropped) {
                dropped.state = State::Done;
            }
        }
        let Some(place) = next else {
            return assert!(released.is_none(), "{released:?}");
        };
        // They are in the order in which they were sent.
        let mut next = self.model.sent.remove(place);
        next.state = State::Sent;
        next.is_in_flight = true;
        let seq = next.delivery.seq;
        let is_late = next.delivery.write_by <= now || next.delivery.origin.has_expired(now);
        let goes_back = is_late || self.model.closing.contains(&connection);
        self.model.sent.push(next);
        let goes_back = goes_back || self.has_too_many(connection, 0);
        let accept = self.model.accept(connection);
        let released = released.map(|(it, accept)| (it.seq, accept));
        assert_eq!(released, Some((seq, (!goes_back).then_some(accept))));
    }

    pub(super) fn pass(&mut self) {
        self.now = self.now + self.random.u64(0..40);
        if self.random.u8(0..4) == 0 {
            // Answers can come before the front looks at the time.
            return;
        }
        let now = self.now;
        let next = self.front.next();
        let (late, free) = self.front.expire(now);
        for sent in &mut self.model.sent {
            if sent.state == State::Queued && sent.delivery.write_by <= now {
                sent.state = State::Done;
                assert!(
                    next.is_some_and(|next| next <= now),
                    "it was not looked for"
                );
            }
        }
        for (connection, id, delivery) in late {
            let it = self.model.of(connection, &id);
            let is_done = |it: &Sent| it.state == State::Done && it.delivery.seq == delivery.seq;
            assert!(it.into_iter().any(|it| is_done(it)), "{delivery:?}");
        }
        for (connection, id, ()) in free {
            if let Some(over) = self.model.in_flight(connection, &id) {
                assert!(over.delivery.until <= now);
                over.end();
            }
            self.release(connection, &id);
        }
    }
}
