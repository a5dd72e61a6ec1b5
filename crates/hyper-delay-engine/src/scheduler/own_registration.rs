use std::sync::Arc;

use hyper_delay_protocol::own_route::OwnRoute;

/// The route that the server makes for a connection, and what rests on its registration. A schedule
/// that is refused changes nothing, so the registration goes with the last one that rests on it.
#[derive(Debug, Default)]
pub struct OwnRegistration {
    name: Option<Arc<str>>,
    /// Schedules without an answer.
    unanswered_schedules: u32,
    /// The route stays registered: a schedule on it was accepted, or may have been, or the client has
    /// registered it.
    is_kept: bool,
}

impl OwnRegistration {
    /// Returns its name, if there is one.
    #[must_use]
    pub const fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    /// Returns its name: always the same.
    pub fn name_or_new(&mut self) -> Arc<str> {
        self.name.get_or_insert_with(OwnRoute::make).clone()
    }

    /// Whether that is its name.
    #[must_use]
    pub fn is_named(&self, route: &str) -> bool {
        self.name.as_deref() == Some(route)
    }

    /// The client has registered it, or a schedule on it may have been accepted.
    pub const fn keep_registered(&mut self) {
        self.is_kept = true;
    }

    /// The client has it no longer.
    pub const fn release(&mut self) {
        self.is_kept = false;
    }

    /// A schedule on it is asked for.
    pub const fn begin_schedule(&mut self) {
        self.unanswered_schedules += 1;
    }

    /// A schedule on it is answered. Returns whether nothing rests on its registration any more.
    pub const fn end_schedule(&mut self, was_refused: bool) -> bool {
        self.unanswered_schedules = self.unanswered_schedules.saturating_sub(1);
        self.is_kept |= !was_refused;
        !self.is_kept && self.unanswered_schedules == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_registration_goes_with_the_last_schedule_that_rests_on_it() {
        let mut own = OwnRegistration::default();
        own.begin_schedule();
        own.begin_schedule();
        assert!(!own.end_schedule(true), "another one is unanswered");
        assert!(own.end_schedule(true));
        own.begin_schedule();
        assert!(!own.end_schedule(false));
        own.begin_schedule();
        assert!(!own.end_schedule(true), "an accepted one rests on it");
        own.release();
        own.begin_schedule();
        assert!(own.end_schedule(true));
        own.keep_registered();
        own.begin_schedule();
        assert!(!own.end_schedule(true), "the client has registered it");
    }
}
