//! Messages of the scheduler, as the serving nodes take them: every time is on the clock of the leader.

use crate::forward::wire::{ForwardedCopy, ToConnection};
use hyper_delay_engine::{
    clock::Now,
    ledger::TaskRevision,
    scheduler::{RequestNumber, SentCopy},
};
use hyper_delay_protocol::Reply;

/// Returns a copy with its number. A replica must be at `after` to have its content.
pub(super) fn forwarded_copy(copy: SentCopy, number: u64, after: u64, now: Now) -> ToConnection {
    let SentCopy {
        seq,
        route,
        id,
        due,
        attempt,
        until,
        write_by,
        expires_at,
    } = copy;
    ToConnection::Deliver(Box::new(ForwardedCopy {
        number,
        revision: TaskRevision {
            route,
            id,
            seq,
            attempt,
        },
        due,
        until,
        write_by,
        expires: expires_at.map(|at| expiry_tick(at, now)),
        after,
    }))
}

/// Converts a time in Unix milliseconds to the clock of this node, in nanoseconds.
fn expiry_tick(at: u64, now: Now) -> u64 {
    let left = at
        .saturating_sub(now.wall_millis())
        .saturating_mul(1_000_000);
    now.monotonic.value().saturating_add(left)
}

/// Returns the answer to a request, with the deadline after a touch as a time that does not depend on
/// the wall clock of the serving node.
pub(super) fn forwarded_reply(number: RequestNumber, reply: Reply, now: Now) -> ToConnection {
    match reply {
        Reply::Touched {
            deadline: Some(deadline),
            ..
        } => ToConnection::Touched(number, reply, now.tick_of(deadline)),
        reply => ToConnection::Reply(number, reply),
    }
}

#[cfg(test)]
mod tests {
    use race_wheel::Tick;

    use super::*;

    const NOW: Now = Now {
        wall_nanos: 1_000_000_000_000,
        monotonic: Tick::new(5_000_000),
    };

    #[test]
    fn a_copy_expires_on_the_clock_of_the_leader() {
        let expiry = |expires_at| {
            let copy = SentCopy {
                seq: 9,
                route: "r".into(),
                id: "x".into(),
                due: 3,
                attempt: 2,
                until: Tick::new(70),
                write_by: Tick::new(60),
                expires_at,
            };
            match forwarded_copy(copy, 4, 30, NOW) {
                ToConnection::Deliver(copy) => {
                    assert_eq!(copy.due, 3);
                    copy.expires
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(expiry(Some(1_000_007)), Some(12_000_000));
        assert_eq!(expiry(Some(999_000)), Some(5_000_000), "it has expired");
        assert_eq!(expiry(Some(u64::MAX)), Some(u64::MAX));
        assert_eq!(expiry(None), None);
    }
}
