//! The end of a leadership of this node, until the log knows of it.

use race_wheel::Tick;

use crate::{
    call_id::{CallId, CallIds},
    log::{Fence, LogRequest},
};
use hyper_delay_engine::clock::Now;

/// The leaderships that this node has resigned.
#[derive(Debug, Default)]
pub(super) struct Resignations {
    /// The last one, or 0. The request to end it can reach the log at any time, so it must not be
    /// taken up again.
    last: u64,
    /// The leadership whose end is not in the log yet: other nodes can still write deliveries of
    /// it.
    pending: Option<PendingResignation>,
}

/// A leadership whose end must be sent to the log.
#[derive(Debug, Clone, Copy)]
struct PendingResignation {
    fence: Fence,
    /// The request in flight.
    pending_call: Option<CallId>,
    /// When it is sent, or sent again.
    send_at: Tick,
}

impl Resignations {
    /// This node leads no longer.
    pub(super) fn resign(&mut self, fence: Fence) {
        self.last = self.last.max(fence.epoch);
        self.pending = Some(PendingResignation {
            fence,
            pending_call: None,
            send_at: Tick::ZERO,
        });
    }

    /// Returns whether this leadership, or a later one, was resigned.
    pub(super) const fn contains(&self, epoch: u64) -> bool {
        epoch <= self.last
    }

    /// Returns whether the end of a leadership is not in the log yet.
    pub(super) const fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Returns when the request must be sent. No node writes deliveries from `grants_end` on.
    pub(super) fn next(&self, grants_end: Tick) -> Option<Tick> {
        let pending = self.pending.filter(|it| it.pending_call.is_none())?;
        Some(pending.send_at.max(grants_end))
    }

    /// Returns the request to send now, which is repeated until it is answered. No node writes
    /// deliveries from `grants_end` on.
    pub(super) fn request(
        &mut self,
        grants_end: Tick,
        calls: &mut CallIds,
        now: Now,
    ) -> Option<(CallId, LogRequest)> {
        self.next(grants_end).filter(|at| now.monotonic >= *at)?;
        let pending = self.pending.as_mut()?;
        let call = calls.next();
        pending.pending_call = Some(call);
        Some((call, LogRequest::Resign(pending.fence)))
    }

    pub(super) fn unanswered(&mut self, call: CallId, again: Tick) {
        if let Some(pending) = &mut self.pending
            && pending.pending_call.take_if(|it| *it == call).is_some()
        {
            pending.send_at = again;
        }
    }

    /// The log has carried out a request.
    pub(super) fn done(&mut self, call: CallId) {
        self.pending.take_if(|it| it.pending_call == Some(call));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard::fixture::at;
    use crate::{ShardId, log::LeaseId};

    fn fence(epoch: u64) -> Fence {
        Fence {
            shard: ShardId(0),
            epoch,
            lease: LeaseId(5),
        }
    }

    #[test]
    fn a_resignation_is_sent_once_no_node_writes_deliveries_until_it_is_answered() {
        let (mut resignations, mut calls) = (Resignations::default(), CallIds::default());
        let mut request = |resignations: &mut Resignations, nanos| {
            resignations.request(Tick::new(50), &mut calls, at(nanos))
        };
        assert_eq!(request(&mut resignations, 90), None);
        resignations.resign(fence(3));
        assert_eq!(request(&mut resignations, 49), None);
        let (call, sent) = request(&mut resignations, 50).unwrap();
        assert_eq!(sent, LogRequest::Resign(fence(3)));
        assert_eq!(request(&mut resignations, 90), None);
        resignations.unanswered(call, Tick::new(70));
        assert_eq!(resignations.next(Tick::new(50)), Some(Tick::new(70)));
        assert_eq!(resignations.next(Tick::new(80)), Some(Tick::new(80)));
        let (call, _) = request(&mut resignations, 70).unwrap();
        resignations.done(CallId(call.0 + 1));
        assert!(resignations.is_pending());
        resignations.done(call);
        assert!(!resignations.is_pending());
    }

    #[test]
    fn a_resigned_leadership_is_known_after_its_end() {
        let mut resignations = Resignations::default();
        assert!(!resignations.contains(1));
        resignations.resign(fence(3));
        resignations.resign(fence(2));
        assert!(resignations.contains(3) && !resignations.contains(4));
    }
}
