//! Clients move tasks to another time, in some histories.

use super::{
    checks::HistoryChecks,
    client_requests::request_event,
    events::SimulationEvent,
    task_name::TaskName,
    world::{MILLI, START, World},
};
use hyper_delay_protocol::{Code, MoveTo, Refusal, Reply, TaskRequest};

/// The moves of a history.
#[derive(Debug)]
pub(super) struct Moves {
    /// Of their own, so that histories without them do not depend on them.
    random: fastrand::Rng,
    are_made: bool,
}

/// The moves of a task, as the clients and the leaders know them.
#[derive(Debug, Default)]
pub(super) struct TrackedMoves {
    /// The earliest time for which a client asked, in Unix milliseconds.
    pub(super) earliest: Option<u64>,
    /// How many moves no leader has answered. They can still take effect.
    unanswered: usize,
    /// When the task is due, in Unix milliseconds, if no other move can take effect.
    due: Option<u64>,
}

impl Moves {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x6d_6f76_6573);
        Self {
            are_made: random.u8(0..3) == 0,
            random,
        }
    }

    pub(super) const fn are_made(&self) -> bool {
        self.are_made
    }
}

impl TrackedMoves {
    /// A client asks for a move to this time.
    fn asked(&mut self, due: u64) {
        self.earliest = Some(self.earliest.map_or(due, |earliest| earliest.min(due)));
        self.unanswered += 1;
        self.due = None;
    }

    /// A leader has answered a move: the task is due then, or has not moved.
    fn answered(&mut self, due: Option<u64>) {
        self.unanswered -= 1;
        self.due = due.filter(|_| self.unanswered == 0);
    }

    /// Checks that a leader may send the task, at this wall-clock time at the most.
    pub(super) fn check_sent(&self, name: &TaskName, wall: u64) -> Result<(), String> {
        match self.due {
            Some(due) if wall < due => {
                Err(format!("{name} was moved to {due} and is sent at {wall}"))
            }
            _ => Ok(()),
        }
    }
}

impl HistoryChecks {
    /// A leader answers a request, which can be a move.
    pub(super) fn note_move(&mut self, reply: &Reply) {
        let (route, id, due) = match reply {
            Reply::Moved { route, id, due, .. } => (route, id, *due),
            Reply::Error(Refusal {
                route: Some(route),
                id: Some(id),
                code: Code::Dead,
                ..
            }) => (route, id, None),
            _ => return,
        };
        let (route, id) = (route.clone(), id.clone());
        if let Some(tracked) = self.tasks.get_mut(&TaskName { route, id }) {
            tracked.moves.answered(due);
            self.moved += u64::from(due.is_some());
        }
    }
}

impl World {
    /// A client moves a task.
    pub(super) fn client_moves(&mut self) {
        if self.is_calm() {
            return;
        }
        let made = self.clients.made();
        let random = &mut self.moves.random;
        let pause = random.u64(1..400) * MILLI;
        let (task, client) = (random.usize(0..made.max(1)), random.usize(..));
        let ahead = random.bool().then(|| random.u64(0..4_000));
        // Then it comes due while its move is on its way to the journal.
        let before_due = random.bool().then(|| random.u64(0..20));
        self.after(pause, SimulationEvent::Moves);
        let clients = &self.clients.clients;
        let Some((consumer, life)) = clients[client % clients.len()].connection else {
            return;
        };
        let name = self.clients.name(task);
        let Some(tracked) = self.checks.tasks.get_mut(&name) else {
            return;
        };
        let now = START + self.at / MILLI;
        let wait = before_due.and_then(|before| tracked.fire_at.checked_sub(now + before));
        let wait = wait.unwrap_or(0);
        let now = now + wait;
        tracked.moves.asked(now + ahead.unwrap_or(0));
        let TaskName { route, id } = name;
        let to = ahead.map_or(MoveTo::Now, |ahead| MoveTo::At(now + ahead));
        let event = request_event(consumer, TaskRequest::Move { route, id, to });
        self.after(wait * MILLI, SimulationEvent::Forwarder(life, event));
    }
}
