use std::sync::Arc;

use super::{options::OptionsId, registrations::PendingRoute};

/// What a request changes once it is accepted. Nothing has changed before.
///
/// [`Front::answered`](super::Front::answered), [`accepted`](super::Front::accepted) and
/// [`refused`](super::Front::refused) take it: a change is applied or dropped, once.
#[derive(Debug, Default)]
#[must_use = "the answer to the request applies it or drops it"]
pub struct Pending(pub(super) Option<Box<PendingChange>>);

#[derive(Debug)]
pub(super) struct PendingChange {
    pub(super) route: PendingRoute,
    pub(super) cause: Cause,
}

/// Why there is no answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// It has reached no scheduler.
    Unsent,
    /// It may have taken effect.
    Lost,
}

/// What the change is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// A registration, with the options that it asks for, and the credit of its connection if it is
    /// accepted.
    Register {
        options: Option<OptionsId>,
        credit: u16,
    },
    Unregister,
    /// A schedule on the connection's own route, which is registered once it is accepted.
    Schedule,
    /// The registration of the connection's own route for an accepted schedule.
    OwnRoute,
}

impl Pending {
    /// The request changes nothing of its connection.
    pub const NONE: Self = Self(None);

    pub(super) fn new(route: PendingRoute, cause: Cause) -> Self {
        Self(Some(Box::new(PendingChange { route, cause })))
    }

    /// Returns whether the request changes nothing of its connection.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns whether it is a registration, which the connection's node must know first.
    #[must_use]
    pub fn is_registration(&self) -> bool {
        let change = self.0.as_ref();
        change
            .is_some_and(|change| matches!(change.cause, Cause::Register { .. } | Cause::OwnRoute))
    }

    /// Returns the credit of the connection if this registration is accepted, and no later one.
    pub(super) fn credit(&self) -> Option<u16> {
        match self.0.as_ref()?.cause {
            Cause::Register { credit, .. } => Some(credit),
            Cause::Unregister | Cause::Schedule | Cause::OwnRoute => None,
        }
    }

    /// Returns the route that the connection has, or has no longer, once the request is accepted.
    #[must_use]
    pub fn route(&self) -> Option<&Arc<str>> {
        self.0.as_ref().map(|change| &change.route.route)
    }
}
