//! The state of a session.

use race_wheel::Tick;

use super::{ActiveSession, session_times::SessionTimes};
use crate::log::NodeName;

/// See the [module](self).
#[derive(Debug)]
pub(super) enum SessionState {
    /// There is none. One may begin from this moment on.
    Down(Tick),
    /// A leader was asked, at this moment.
    Requested(SessionPartner, Tick),
    /// It lasts.
    Active(ActiveSession),
}

/// The leadership that a session is with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::forward) struct SessionPartner {
    pub(in crate::forward) node: NodeName,
    pub(in crate::forward) epoch: u64,
}

impl SessionPartner {
    pub(super) fn is(&self, node: &NodeName, epoch: u64) -> bool {
        (&self.node, self.epoch) == (node, epoch)
    }
}

impl SessionState {
    /// A session may begin now, if there is none.
    pub(super) fn try_now(&mut self, now: Tick) {
        if let Self::Down(next) = self {
            *next = now.min(*next);
        }
    }

    /// Returns whether a leader must be asked for a session.
    pub(super) fn is_request_due(&self, now: Tick) -> bool {
        matches!(self, Self::Down(next) if *next <= now)
    }

    /// Returns whether the leader has not answered for too long.
    pub(super) fn is_silent(&self, times: SessionTimes, now: Tick) -> bool {
        match self {
            Self::Down(_) => false,
            Self::Requested(_, since) => *since + times.answer <= now,
            Self::Active(active) => active.is_silent(times, now),
        }
    }

    /// Returns when there is something to do: a leader is asked, or has been silent for too long.
    pub(super) fn next_event(&self, times: SessionTimes) -> Tick {
        match self {
            Self::Down(next) => *next,
            Self::Requested(_, since) => *since + times.answer,
            Self::Active(active) => active.next_event(times),
        }
    }

    /// Returns the leadership that the session is with, or is about to be with.
    pub(super) const fn partner(&self) -> Option<&SessionPartner> {
        match self {
            Self::Down(_) => None,
            Self::Requested(partner, _) => Some(partner),
            Self::Active(active) => Some(active.partner()),
        }
    }

    /// Returns the session, if it lasts.
    pub(super) const fn active(&self) -> Option<&ActiveSession> {
        match self {
            Self::Active(active) => Some(active),
            Self::Down(_) | Self::Requested(..) => None,
        }
    }

    pub(super) const fn active_mut(&mut self) -> Option<&mut ActiveSession> {
        match self {
            Self::Active(active) => Some(active),
            Self::Down(_) | Self::Requested(..) => None,
        }
    }
}
