//! The bytes of forwarded requests, which nodes of other releases read and write.

use std::fmt::Write as _;

use super::*;
use hyper_delay_engine::scheduler::DeliveryName;
use hyper_delay_protocol::{
    BulkAct, BulkMove, BulkMoveTo, BulkRequest, Compression, Due, Filter, Headers, MoveTo,
    Schedule, TaskState, Terms,
    access::{Grant, Right, TokenEntry},
};

fn route() -> Arc<str> {
    "mail".into()
}

fn id() -> Arc<str> {
    "t1".into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

/// Asserts the bytes of a request, and that they are read as a request with the same bytes.
fn assert_bytes(request: &ForwardedRequest, expected: &str) {
    let bytes = postcard::to_allocvec(request).unwrap();
    assert_eq!(hex(&bytes), expected.replace(' ', ""), "{request:?}");
    let decoded: ForwardedRequest = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(postcard::to_allocvec(&decoded).unwrap(), bytes);
}

/// A request of a client without a grant. Its bytes begin with the 0 of `ForwardedRequest::Request`
/// and end with the 0 of no grant.
fn assert_task(request: RouteRequest, expected: &str) {
    let request = ForwardedRequest::Request(request);
    assert_bytes(&request, &format!("00 {expected} 00"));
}

/// A request of an operator without name and address. Its bytes begin with the 1 of
/// `ForwardedRequest::Operator` and end with two 0 for the actor.
fn assert_admin(request: AdminRequest, expected: &str) {
    let request = ForwardedRequest::Operator(request, Actor::default());
    assert_bytes(&request, &format!("01 {expected} 00 00"));
}

fn schedule() -> Schedule {
    Schedule {
        id: Some(id()),
        route: Some(route()),
        due: Due::At(300),
        compression: Compression::None,
        payload: Box::default(),
        replace: false,
        headers: Headers::default(),
        terms: None,
    }
}

fn of_schedule(schedule: Schedule, grant: Option<Arc<Grant>>) -> RouteRequest {
    RouteRequest::Schedule {
        route: route(),
        id: id(),
        schedule,
        grant,
    }
}

#[test]
fn registrations_keep_their_bytes() {
    let register = RouteRequest::Register {
        route: route(),
        mode: RegisterMode::Shared,
    };
    assert_task(register, "02 046d61696c 00 00 00");
    let register = RouteRequest::Register {
        route: route(),
        mode: RegisterMode::Exclusive,
    };
    assert_task(register, "02 046d61696c 00 01 00");
    let unregister = RouteRequest::Unregister { route: route() };
    assert_task(unregister, "03 046d61696c");
}

#[test]
fn schedules_keep_their_bytes() {
    assert_task(
        of_schedule(schedule(), None),
        "04 01027431 01046d61696c 00ac02 00 00 00 00 00",
    );
    let delayed = Schedule {
        due: Due::After(300),
        ..schedule()
    };
    assert_task(
        of_schedule(delayed, None),
        "04 01027431 01046d61696c 01ac02 00 00 00 00 00",
    );
    let with_everything = Schedule {
        compression: Compression::Lz4,
        payload: Box::new([1, 2, 255]),
        replace: true,
        headers: Headers::of_text("{\"a\":\"b\"}"),
        terms: Some(Box::new(Terms {
            expires_at: Some(400),
            ack_timeout_ms: Some(1),
            max_attempts: Some(2),
            retry_delay_ms: Some(3),
            max_retry_delay_ms: None,
        })),
        ..schedule()
    };
    assert_task(
        of_schedule(with_everything, None),
        "04 01027431 01046d61696c 00ac02 01 030102ff 01 097b2261223a2262227d \
         01 019003 0101 0102 0103 00",
    );
}

#[test]
fn grants_of_schedules_keep_their_bytes() {
    let rights = vec![Right::Schedule];
    let (entry, _) = TokenEntry::new("job".into(), rights, vec!["m*".into()]).unwrap();
    let mut grant = entry.with_pending(Some(6), None).grant();
    grant.id = "x".into();
    let request = of_schedule(schedule(), Some(Arc::new(grant)));
    let request = ForwardedRequest::Request(request);
    assert_bytes(
        &request,
        "00 04 01027431 01046d61696c 00ac02 00 00 00 00 00 01 0178 036a6f62 0100 01026d2a 00 0106 00",
    );
}

#[test]
fn touches_keep_their_bytes() {
    let delivery = DeliveryName {
        route: route(),
        id: id(),
        attempt: 7,
    };
    let touch = RouteRequest::Touch {
        delivery,
        extend_ms: Some(300),
    };
    assert_task(touch, "07 027431 01046d61696c 0107 01ac02");
}

#[test]
fn cancels_keep_their_bytes() {
    let cancel = RouteRequest::Cancel {
        route: route(),
        id: id(),
    };
    assert_task(cancel, "08 046d61696c 027431");
}

#[test]
fn moves_keep_their_bytes() {
    for (to, expected) in [(MoveTo::Now, "00"), (MoveTo::At(300), "01 ac02")] {
        let moved = RouteRequest::Move {
            route: route(),
            id: id(),
            to,
        };
        assert_task(moved, &format!("19 046d61696c 027431 {expected}"));
    }
}

#[test]
fn requests_of_operators_keep_their_bytes() {
    let (route, id) = (route(), id());
    let delete = AdminRequest::Delete {
        route: route.clone(),
        id: id.clone(),
    };
    assert_admin(delete, "0f 046d61696c 027431");
    let pause = AdminRequest::Pause {
        route: route.clone(),
    };
    assert_admin(pause, "11 046d61696c");
    let resume = AdminRequest::Resume {
        route: route.clone(),
    };
    assert_admin(resume, "12 046d61696c");
    assert_admin(AdminRequest::Stop { job: 300 }, "14 ac02");
    let kick = AdminRequest::Kick { route, id };
    assert_admin(kick, "18 046d61696c 027431");
}

#[test]
fn bulk_requests_keep_their_bytes() {
    let kick_all = BulkRequest {
        act: BulkAct::Kick,
        route: route(),
        filter: Filter {
            reason: Some("no".into()),
            from: Some(1),
            until: Some(300),
        },
        in_flight: false,
    };
    assert_admin(
        AdminRequest::Bulk(Box::new(kick_all)),
        "10 00 046d61696c 01026e6f 0101 01ac02 00 00",
    );
    let purge = BulkRequest {
        act: BulkAct::Purge,
        route: route(),
        filter: Filter::default(),
        in_flight: true,
    };
    assert_admin(
        AdminRequest::Bulk(Box::new(purge)),
        "10 02 046d61696c 00 00 00 01 00",
    );
}

#[test]
fn bulk_moves_keep_their_bytes() {
    for (to, state, bytes) in [
        (
            BulkMoveTo::Now,
            None,
            "10 03 00 00 046d61696c 00 00 00 00 00",
        ),
        (
            BulkMoveTo::At(300),
            Some(TaskState::Retrying),
            "10 03 01ac02 0104 046d61696c 00 00 00 00 00",
        ),
        (
            BulkMoveTo::Later(1),
            Some(TaskState::Waiting),
            "10 03 0201 0100 046d61696c 00 00 00 00 00",
        ),
    ] {
        let moves = BulkRequest {
            act: BulkAct::Move(BulkMove { to, state }),
            route: route(),
            filter: Filter::default(),
            in_flight: false,
        };
        assert_admin(AdminRequest::Bulk(Box::new(moves)), bytes);
    }
}

#[test]
fn actors_keep_their_bytes() {
    let actor = Actor {
        by: Some("job".into()),
        address: Some(([127, 0, 0, 1], 300).into()),
    };
    let request = ForwardedRequest::Operator(AdminRequest::Stop { job: 1 }, actor);
    assert_bytes(&request, "01 14 01 01036a6f62 01 00 7f000001 ac02");
}
