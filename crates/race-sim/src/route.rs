use std::{cell::RefCell, rc::Rc};

use crate::Request;

/// Chooses a server for each attempt of a request.
pub trait Route {
    /// Kept until the attempt is over, for routes that count.
    type Lease: 'static;

    /// Chooses a server. `used` has those of the earlier attempts of the request; a server among
    /// them is chosen again only if there is no other.
    fn choose(&self, request: &Request, used: &[usize]) -> (usize, Self::Lease);
}

/// Chooses a random server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Random;

/// Chooses between two random servers: the one to which this client has fewer attempts in flight
/// (Mitzenmacher, *The Power of Two Choices in Randomized Load Balancing*, IEEE TPDS 12(10), 2001).
/// If both have the same number, the first one drawn.
#[derive(Debug, Default)]
pub struct TwoChoices {
    in_flight: Rc<RefCell<Vec<u32>>>,
}

/// Like [`TwoChoices`], by the number of attempts that the servers have from all clients, as if
/// they reported it without delay.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportedChoices;

/// An attempt that is in flight, for [`TwoChoices`].
#[derive(Debug)]
pub struct Counted {
    in_flight: Rc<RefCell<Vec<u32>>>,
    server: usize,
}

impl Route for Random {
    type Lease = ();

    fn choose(&self, request: &Request, used: &[usize]) -> (usize, ()) {
        (random(request, used), ())
    }
}

impl Route for TwoChoices {
    type Lease = Counted;

    fn choose(&self, request: &Request, used: &[usize]) -> (usize, Counted) {
        let mut counts = self.in_flight.borrow_mut();
        counts.resize(request.servers(), 0);
        let server = better(request, used, |server| counts[server] as usize);
        counts[server] += 1;
        let in_flight = self.in_flight.clone();
        (server, Counted { in_flight, server })
    }
}

impl Route for ReportedChoices {
    type Lease = ();

    fn choose(&self, request: &Request, used: &[usize]) -> (usize, ()) {
        let reported = |server| request.in_flight(server);
        (better(request, used, reported), ())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.in_flight.borrow_mut()[self.server] -= 1;
    }
}

/// Draws two servers and returns the one with the lower cost.
fn better(request: &Request, used: &[usize], cost: impl Fn(usize) -> usize) -> usize {
    let first = random(request, used);
    let others = [used, &[first]].concat();
    let second = random(request, &others);
    match cost(second) < cost(first) && !used.contains(&second) {
        true => second,
        false => first,
    }
}

/// Draws a server that is not among `used`; any server if all are.
fn random(request: &Request, used: &[usize]) -> usize {
    let all = request.servers();
    let is_free = |server: &usize| !used.contains(server);
    let free = (0..all).filter(is_free).count();
    match free {
        0 => request.random(all),
        free => {
            let drawn = request.random(free);
            let mut left = (0..all).filter(is_free);
            left.nth(drawn).expect("one of the free ones was drawn")
        }
    }
}
