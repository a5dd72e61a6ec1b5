use uuid::Uuid;

/// The source of the ids of tasks and the names of routes that the server makes.
#[derive(Debug, Default)]
pub struct NewIds {
    /// `None`: UUIDs of version 7, from the clock and the random numbers of the system.
    seeded: Option<fastrand::Rng>,
}

impl NewIds {
    /// Creates a source for a simulation, which can be repeated. Never give its ids to clients: others
    /// can guess them.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self {
            seeded: Some(fastrand::Rng::with_seed(seed)),
        }
    }

    pub(super) fn make(&mut self) -> Uuid {
        match &mut self.seeded {
            None => Uuid::now_v7(),
            Some(random) => Uuid::from_u128(random.u128(..)),
        }
    }
}
