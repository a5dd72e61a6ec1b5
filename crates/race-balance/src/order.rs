use std::sync::Arc;

use fastrand::Rng;
use race_core::Moment;

use crate::{
    balance::Settings,
    cost::lowest,
    endpoint::{Endpoint, Place},
    health::Standing,
};

/// Endpoints in order of preference, drawn one by one: those of one tier before those of the next.
/// Drawing all of them takes a time in proportion to their number times `choices`.
#[derive(Debug)]
pub(crate) struct Order<'a, E> {
    endpoints: &'a [Arc<Endpoint<E>>],
    /// Positions by tier.
    tiers: [Vec<usize>; 6],
    settings: Settings,
    is_suspended: bool,
    now: Moment,
    rng: Rng,
}

/// Tiers with a lower number go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    /// Its ejection has ended, and the next request is the trial.
    Due,
    /// In rotation, and no earlier attempt of the race went there.
    Unused,
    /// In rotation, and an earlier attempt went there.
    Used,
    /// In rotation, and the attempt before went there.
    Last,
    /// The first tier where nothing else is left. A guess that the endpoint fails is overruled
    /// before a server that asked for a pause.
    Ejected,
    PushedBack,
}

impl<'a, E> Order<'a, E> {
    /// `used` has the endpoints of the earlier attempts of the race, the latest one last.
    pub(crate) fn new(
        endpoints: &'a [Arc<Endpoint<E>>],
        used: &[Arc<Endpoint<E>>],
        settings: Settings,
        now: Moment,
        rng: Rng,
    ) -> Self {
        let mut order = Self {
            endpoints,
            tiers: Default::default(),
            settings,
            is_suspended: is_suspended(endpoints),
            now,
            rng,
        };
        order.tiers[Tier::Unused as usize].reserve(endpoints.len());
        let mut returns = Vec::new();
        for (position, endpoint) in endpoints.iter().enumerate() {
            let by_use = || match used.iter().rposition(|it| it == endpoint) {
                None => Tier::Unused,
                Some(last) if last + 1 == used.len() => Tier::Last,
                Some(_) => Tier::Used,
            };
            let tier = match endpoint.standing(now) {
                Standing::PushedBack(until) => {
                    returns.push((until, position));
                    continue;
                }
                Standing::Due if !order.is_suspended && by_use() == Tier::Unused => Tier::Due,
                Standing::Ejected if !order.is_suspended => Tier::Ejected,
                _ => by_use(),
            };
            order.tiers[tier as usize].push(position);
        }
        // The last one goes first: that whose pushback ends first.
        returns.sort_unstable_by(|one, other| other.cmp(one));
        order.tiers[Tier::PushedBack as usize] = returns.into_iter().map(|it| it.1).collect();
        order
    }

    /// Returns the number of endpoints of the race.
    #[cfg(feature = "tower")]
    pub(crate) fn count(&self) -> usize {
        self.endpoints.len()
    }

    /// Leaves out endpoints, by their position.
    #[cfg(feature = "tower")]
    pub(crate) fn without(mut self, is_left_out: impl Fn(usize) -> bool) -> Self {
        for tier in &mut self.tiers {
            tier.retain(|position| !is_left_out(*position));
        }
        self
    }

    /// Keeps those in rotation that a hedge may go to: none of earlier attempts if there are others,
    /// and never that of the attempt before. Of these, those that have room.
    pub(crate) fn with_room(mut self, has_room: impl Fn(&Endpoint<E>) -> bool) -> Self {
        let is_empty = |tier: Tier| self.tiers[tier as usize].is_empty();
        let are_used = is_empty(Tier::Due) && is_empty(Tier::Unused);
        let endpoints = self.endpoints;
        for (tier, positions) in self.tiers.iter_mut().enumerate() {
            let is_open = tier < Tier::Used as usize || (are_used && tier == Tier::Used as usize);
            positions.retain(|position| is_open && has_room(&endpoints[*position]));
        }
        self
    }

    /// Takes the next endpoint, with its position.
    pub(crate) fn next(&mut self) -> Option<(usize, Place<E>)> {
        loop {
            let tier = self.tiers.iter().position(|tier| !tier.is_empty())?;
            let position = match tier == Tier::PushedBack as usize {
                true => self.tiers[tier].pop()?,
                false => self.draw(tier),
            };
            let endpoint = &self.endpoints[position];
            if self.is_suspended {
                return Some((position, Place::without_trial(endpoint)));
            }
            if tier >= Tier::Ejected as usize {
                return Some((position, Place::at(endpoint, self.now)));
            }
            match Place::in_rotation(endpoint, self.now) {
                Some(place) => return Some((position, place)),
                // Another thread was faster.
                None => self.tiers[Tier::Ejected as usize].push(position),
            }
        }
    }

    /// Draws some endpoints of a tier, and takes the one with the lowest cost. The order of the draw
    /// decides a tie.
    fn draw(&mut self, tier: usize) -> usize {
        let positions = &mut self.tiers[tier];
        let count = self.settings.choices.min(positions.len());
        for drawn in 0..count {
            let other = self.rng.usize(drawn..positions.len());
            positions.swap(drawn, other);
        }
        let cost = |it: &usize| self.endpoints[*it].cost(self.now, self.settings.decay);
        let costs: Vec<_> = match count {
            ..=1 => Vec::new(),
            _ => positions[..count].iter().map(cost).collect(),
        };
        positions.swap_remove(lowest(&costs).unwrap_or(0))
    }
}

/// Returns whether all endpoints are used, since more than half of them fail. The cause is likely to
/// be elsewhere then, and the others could not bear the load.
pub(crate) fn is_suspended<E>(endpoints: &[Arc<Endpoint<E>>]) -> bool {
    let failing = endpoints.iter().filter(|it| it.is_failing()).count();
    2 * failing > endpoints.len()
}
