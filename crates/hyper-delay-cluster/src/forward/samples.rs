//! Values for the tests of the parts.

use race_wheel::Tick;

use super::{
    deliveries::ServedDelivery,
    leader_session::{ActiveSession, PendingRequest, ReplyAction, SessionPartner},
    wire::{ForwardedCopy, LeadershipGrant},
};
use crate::{
    ShardId,
    log::{Leader, LeaseId, Member},
};
use hyper_delay_engine::{ledger::TaskRevision, scheduler::ConsumerId};

/// The leadership of a node.
pub(super) fn leader(node: &str, epoch: u64) -> Leader {
    Leader {
        member: Member {
            node: node.into(),
            address: "there:1".into(),
        },
        epoch,
        lease: LeaseId(1),
    }
}

/// A leadership that holds for 1,000 ns from this time on. Its clock is 100 ns ahead.
pub(super) fn grant(asked_at: u64) -> LeadershipGrant {
    LeadershipGrant {
        asked_at: Tick::new(asked_at),
        at: Tick::new(asked_at + 100),
        until: Tick::new(asked_at + 1_100),
    }
}

/// A copy of a task on route `r` whose content is at this place of the journal.
pub(super) fn copy(seq: u64, after: u64) -> ForwardedCopy {
    ForwardedCopy {
        number: seq,
        revision: TaskRevision {
            route: "r".into(),
            id: format!("task {seq}").into(),
            seq,
            attempt: 1,
        },
        due: 3,
        until: Tick::new(900),
        write_by: Tick::new(800),
        expires: Some(700),
        after,
    }
}

/// A delivery of the leadership 7.
pub(super) fn delivered(seq: u64) -> ServedDelivery {
    active(7, 0).delivered(&copy(seq, 0))
}

/// A session with the leadership of node `b`, which has begun at this time.
pub(super) fn active(epoch: u64, now: u64) -> ActiveSession {
    let partner = SessionPartner {
        node: "b".into(),
        epoch,
    };
    ActiveSession::new(ShardId(3), partner, grant(now), Tick::new(now))
}

/// A request of a connection.
pub(super) fn request(consumer: ConsumerId) -> PendingRequest {
    PendingRequest::internal(consumer, ReplyAction::ReplyOnly)
}
