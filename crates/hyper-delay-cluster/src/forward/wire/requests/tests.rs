use super::*;

/// Reads a request of a client from bytes with this number, and with zeros for its fields.
fn task_of(number: u8) -> Result<RouteRequest, UnexpectedRequest> {
    let request = match wire_of(number) {
        WireRequest::Schedule(schedule) => WireRequest::Schedule(Cow::Owned(Schedule {
            route: Some("route".into()),
            id: Some("id".into()),
            ..schedule.into_owned()
        })),
        WireRequest::Touch { extend_ms, .. } => WireRequest::Touch {
            delivery: DeliverySelector {
                id: "id".into(),
                route: Some("route".into()),
                attempt: Some(1),
            },
            extend_ms,
        },
        request => request,
    };
    request.into_route_request(None)
}

#[test]
fn a_touch_without_names_is_an_error() {
    let error = wire_of(7).into_route_request(None).unwrap_err();
    assert!(error.to_string().contains("touch without names"), "{error}");
}

#[test]
fn a_schedule_without_names_is_an_error() {
    let schedule = WireRequest::Schedule(Cow::Owned(match wire_of(4) {
        WireRequest::Schedule(schedule) => schedule.into_owned(),
        other => panic!("{other:?}"),
    }));
    let error = schedule.into_route_request(None).unwrap_err();
    assert!(
        error.to_string().contains("schedule without names"),
        "{error}"
    );
}

fn wire_of(number: u8) -> WireRequest<'static> {
    let mut bytes = [0; 16];
    bytes[0] = number;
    let (request, _) = postcard::take_from_bytes(&bytes).unwrap();
    request
}

#[test]
fn each_number_is_of_one_layer_and_other_requests_are_named() {
    const KINDS: u8 = 26;
    let mut not_forwarded = Vec::new();
    for number in 0..KINDS {
        let kind = wire_of(number).kind();
        match (task_of(number), AdminRequest::try_from(wire_of(number))) {
            (Ok(request), Err(error)) => {
                assert_eq!(WireRequest::from(&request).kind(), kind);
                let message =
                    format!("a node has forwarded the request {kind} as one of an operator");
                assert_eq!(error.to_string(), message);
            }
            (Err(error), Ok(request)) => {
                assert_eq!(WireRequest::from(&request).kind(), kind);
                let message = format!("a node has forwarded the request {kind} as one of a client");
                assert_eq!(error.to_string(), message);
            }
            (Err(_), Err(_)) => not_forwarded.push(kind),
            (Ok(task), Ok(change)) => panic!("{kind}: {task:?} and {change:?}"),
        }
    }
    assert!(postcard::from_bytes::<WireRequest<'_>>(&[KINDS]).is_err());
    let expected = [
        "hello", "auth", "ack", "nack", "ping", "stats", "dead", "get", "list", "future", "jobs",
        "audit", "reasons", "backup",
    ];
    assert_eq!(not_forwarded, expected);
}

#[test]
fn count_is_no_bulk_operation() {
    let bulk = WireRequest::Bulk(WireBulk {
        act: BulkAct::Kick,
        route: "mail".into(),
        filter: Filter::default(),
        in_flight: false,
        dry_run: true,
    });
    let error = AdminRequest::try_from(bulk).unwrap_err();
    assert_eq!(error.kind, "bulk with dry_run");
}
