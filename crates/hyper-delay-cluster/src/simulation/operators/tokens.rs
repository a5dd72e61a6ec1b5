//! Tokens that may have only a few pending tasks.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    ShardId,
    simulation::{
        task_name::TaskName,
        world::{MILLI, World},
    },
};
use hyper_delay_protocol::access::{Grant, Right, TokenEntry};

/// When they use up their limits, after the faults have ended.
const BURST: u64 = 8_000 * MILLI;

/// The tokens of a history. `schedule` is sent with one of them, if there are any.
#[derive(Debug)]
pub(in crate::simulation) struct LimitedTokens {
    random: fastrand::Rng,
    all: Vec<Arc<Grant>>,
    /// The only one that is used.
    only: Option<usize>,
    had_burst: bool,
}

impl LimitedTokens {
    pub(super) fn new(are_limited: bool, random: &mut fastrand::Rng) -> Self {
        let mut random = random.fork();
        let number = if are_limited { random.usize(1..6) } else { 0 };
        let all = (0..number).map(|number| {
            let routes = random.choice(["*", "route-*", "r*"]);
            let routes = vec![routes.expect("there are some").to_owned()];
            let rights = vec![Right::Schedule];
            let entry = TokenEntry::new(format!("token-{number}"), rights, routes);
            let (entry, _) = entry.expect("it is right");
            let most = random.choice([1, 2, 3, 5, 8, 20]).expect("there are some");
            let mut grant = entry.with_pending(Some(most), None).grant();
            grant.id = number.to_string();
            Arc::new(grant)
        });
        let all: Vec<_> = all.collect();
        Self {
            random,
            all,
            only: None,
            had_burst: false,
        }
    }

    pub(super) const fn are_limited(&self) -> bool {
        !self.all.is_empty()
    }

    fn draw(&mut self) -> Option<Arc<Grant>> {
        let number = match self.only {
            Some(only) => only,
            None => self.random.usize(0..self.all.len().max(1)),
        };
        self.all.get(number).cloned()
    }
}

impl World {
    /// Returns the token with which a task is scheduled.
    pub(in crate::simulation) fn token_for(&mut self, name: &TaskName) -> Option<Arc<Grant>> {
        let token = self.operators.tokens.draw()?;
        if let Some(stored) = &mut self.checks.stored {
            stored.pending.add(name, token.clone());
        }
        Some(token)
    }

    /// Once the faults are over, each token schedules more than it may.
    pub(super) fn exhaust_limits(&mut self) {
        let tokens = &mut self.operators.tokens;
        if tokens.had_burst || self.at < self.calm + BURST {
            return;
        }
        tokens.had_burst = true;
        let most: BTreeMap<usize, u64> = tokens
            .all
            .iter()
            .map(|token| token.pending.unwrap_or_default())
            .enumerate()
            .collect();
        for (number, most) in most {
            self.operators.tokens.only = Some(number);
            for task in 0..most + 2 {
                let shard = u16::try_from(task).expect("it is small") % self.charter.shards;
                self.create_task(ShardId(shard), 500);
            }
        }
    }
}
