//! Requests of operators.

use std::sync::Arc;

use crate::simulation::{
    task_name::TaskName,
    world::{MILLI, START, World},
};
use hyper_delay_protocol::{
    AdminRequest, BulkAct, BulkMove, BulkMoveTo, BulkRequest, Filter, TaskState,
};

impl World {
    /// Returns what an operator asks for now. In the end all routes are resumed.
    pub(super) fn operator_requests(&mut self) -> Vec<AdminRequest> {
        let Some(stored) = &self.checks.stored else {
            return Vec::new();
        };
        if self.is_calm() {
            let paused = stored.paused().cloned();
            return paused.map(|route| AdminRequest::Resume { route }).collect();
        }
        let mut requests = Vec::new();
        if self.operators.pause {
            requests.extend(self.pauses_or_resumes());
        }
        if self.operators.change {
            requests.push(self.changes());
        }
        // A node of 0.3 does not know them.
        if self.operators.moves.are_made() && !self.versions.is_upgrade() {
            requests.push(self.bulk_move());
        }
        requests
    }

    fn pauses_or_resumes(&mut self) -> Vec<AdminRequest> {
        let routes = &self.clients.routes;
        let operators = &mut self.operators;
        let random = &mut operators.random;
        let route = match random.u8(0..3) {
            0 => random.choice(routes),
            _ => random.choice(&operators.idle),
        };
        let route = route.expect("there are some").clone();
        match random.u8(0..4) {
            0 => vec![AdminRequest::Resume { route }],
            // Twice in a row: only one of them changes anything.
            1 => vec![
                AdminRequest::Pause {
                    route: route.clone(),
                },
                AdminRequest::Pause { route },
            ],
            _ => vec![AdminRequest::Pause { route }],
        }
    }

    fn changes(&mut self) -> AdminRequest {
        match self.operators.random.u8(0..10) {
            0 => match self.dead_or_any() {
                Some(TaskName { route, id }) => AdminRequest::Kick { route, id },
                None => self.bulk(),
            },
            1 => match self.dead_or_any() {
                Some(TaskName { route, id }) => AdminRequest::Delete { route, id },
                None => self.bulk(),
            },
            2 | 3 => match self.operators.jobs.last() {
                Some(job) => AdminRequest::Stop { job: *job },
                None => self.bulk(),
            },
            _ => self.bulk(),
        }
    }

    fn bulk(&mut self) -> AdminRequest {
        let random = &mut self.operators.random;
        let route = random.choice(&self.clients.routes);
        let route: Arc<str> = route.expect("there is one").clone();
        let act = match random.u8(0..8) {
            0..4 => BulkAct::Kick,
            4..7 => BulkAct::Delete,
            _ => BulkAct::Purge,
        };
        let now = START + self.at / MILLI;
        let filter = match act {
            BulkAct::Purge => Filter::default(),
            _ => Filter {
                // Dead letters here have no reason.
                reason: match random.u8(0..8) {
                    0 => Some("".into()),
                    1 => Some("a reason".into()),
                    _ => None,
                },
                from: (random.u8(0..5) == 0).then(|| now - random.u64(0..5_000)),
                until: (random.u8(0..5) == 0).then(|| now + random.u64(0..5_000) - 4_000),
            },
        };
        AdminRequest::Bulk(Box::new(BulkRequest {
            act,
            route,
            filter,
            in_flight: act == BulkAct::Purge && random.bool(),
        }))
    }

    fn bulk_move(&mut self) -> AdminRequest {
        let random = &mut self.operators.moves.random;
        let route = random.choice(&self.clients.routes);
        let route: Arc<str> = route.expect("there is one").clone();
        let now = START + self.at / MILLI;
        let to = match random.u8(0..4) {
            0 | 1 => BulkMoveTo::Now,
            2 => BulkMoveTo::At(now + random.u64(0..4_000)),
            // Tasks that are moved many times still come due in the end.
            _ => BulkMoveTo::Later(random.u64(1..300)),
        };
        let state = match random.u8(0..8) {
            0 => Some(TaskState::Waiting),
            1 => Some(TaskState::Parked),
            2 => Some(TaskState::Retrying),
            _ => None,
        };
        let filter = Filter {
            reason: (random.u8(0..8) == 0).then(|| "".into()),
            from: (random.u8(0..5) == 0).then(|| now + random.u64(0..2_000) - 1_000),
            until: (random.u8(0..5) == 0).then(|| now + 1_000 + random.u64(0..2_000)),
        };
        self.checks.bulk_moves.sent(&route, to, now);
        AdminRequest::Bulk(Box::new(BulkRequest {
            act: BulkAct::Move(BulkMove { to, state }),
            route,
            filter,
            in_flight: false,
        }))
    }

    /// Returns a dead letter, if there is one and it is wanted, or any task.
    fn dead_or_any(&mut self) -> Option<TaskName> {
        let stored = self.checks.stored.as_ref()?;
        let random = &mut self.operators.random;
        let dead: Vec<_> = stored.dead().collect();
        let name = match random.u8(0..4) {
            0 => None,
            _ => random.choice(dead).cloned(),
        };
        name.or_else(|| {
            let tasks: Vec<_> = self.checks.tasks.keys().collect();
            random.choice(tasks).cloned()
        })
    }
}
