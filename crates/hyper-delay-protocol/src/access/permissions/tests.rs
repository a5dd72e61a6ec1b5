use std::collections::BTreeSet;

use super::*;
use crate::{
    MoveTo, SessionRequest,
    access::{Routes, grant::Proof},
    parse,
};

fn grant(rights: &[Right]) -> Grant {
    grant_on(rights, &["mail*"])
}

fn grant_on(rights: &[Right], routes: &[&str]) -> Grant {
    Grant {
        id: "0123456789ab".to_owned(),
        name: "test".to_owned(),
        rights: rights.to_vec(),
        routes: Routes::new(routes.iter().map(|route| (*route).to_owned()).collect()).unwrap(),
        schedules_per_second: None,
        pending: None,
        pending_bytes: None,
        proof: Proof::Certificate("test".to_owned()),
    }
}

/// Requests that need no right.
const FREE: [&str; 3] = [
    r#"{"kind":"auth","token":"x"}"#,
    r#"{"kind":"hello","protocol":2}"#,
    r#"{"kind":"ping"}"#,
];

/// Requests that need one right: on the route if they name one, otherwise on any route.
const REQUESTS: [(&str, Right); 23] = [
    (r#"{"kind":"register","route_key":"mail1"}"#, Right::Consume),
    (
        r#"{"kind":"unregister","route_key":"mail1"}"#,
        Right::Consume,
    ),
    (
        r#"{"kind":"schedule","route_key":"mail1","fire_at":0}"#,
        Right::Schedule,
    ),
    (r#"{"kind":"ack","id":"x"}"#, Right::Consume),
    (r#"{"kind":"nack","id":"x"}"#, Right::Consume),
    (r#"{"kind":"touch","id":"x"}"#, Right::Consume),
    (
        r#"{"kind":"cancel","route_key":"mail1","id":"x"}"#,
        Right::Schedule,
    ),
    (
        r#"{"kind":"run_now","route_key":"mail1","id":"x"}"#,
        Right::Schedule,
    ),
    (
        r#"{"kind":"reschedule","route_key":"mail1","id":"x","due":0}"#,
        Right::Schedule,
    ),
    (r#"{"kind":"stats"}"#, Right::Admin),
    (r#"{"kind":"stats","route_key":"mail1"}"#, Right::Admin),
    (r#"{"kind":"list","route_key":"mail1"}"#, Right::Admin),
    (r#"{"kind":"dead","route_key":"mail1"}"#, Right::Admin),
    (
        r#"{"kind":"dead","route_key":"mail1","payload":true}"#,
        Right::Admin,
    ),
    (r#"{"kind":"reasons","route_key":"mail1"}"#, Right::Admin),
    (
        r#"{"kind":"kick","route_key":"mail1","id":"x"}"#,
        Right::Admin,
    ),
    (
        r#"{"kind":"delete","route_key":"mail1","id":"x"}"#,
        Right::Admin,
    ),
    (r#"{"kind":"kick_all","route_key":"mail1"}"#, Right::Admin),
    (r#"{"kind":"delete_all","route_key":"mail1"}"#, Right::Admin),
    (r#"{"kind":"purge","route_key":"mail1"}"#, Right::Admin),
    (
        r#"{"kind":"purge","route_key":"mail1","dry_run":true}"#,
        Right::Admin,
    ),
    (r#"{"kind":"pause","route_key":"mail1"}"#, Right::Admin),
    (r#"{"kind":"resume","route_key":"mail1"}"#, Right::Admin),
];

/// Requests that need `admin` on every route.
const EVERYWHERE: [&str; 7] = [
    r#"{"kind":"list"}"#,
    r#"{"kind":"reasons"}"#,
    r#"{"kind":"future"}"#,
    r#"{"kind":"jobs"}"#,
    r#"{"kind":"stop","job":1}"#,
    r#"{"kind":"audit"}"#,
    r#"{"kind":"backup"}"#,
];

/// Requests that need `schedule` or `admin` on the route.
const BULK_MOVES: [&str; 3] = [
    r#"{"kind":"run_now_all","route_key":"mail1"}"#,
    r#"{"kind":"reschedule_all","route_key":"mail1","due":0}"#,
    r#"{"kind":"reschedule_all","route_key":"mail1","due":0,"dry_run":true}"#,
];

const GET: &str = r#"{"kind":"get","route_key":"mail1","id":"x"}"#;

fn request(line: &str) -> Request {
    parse(line.as_bytes()).unwrap().request
}

/// The kind of a request. A new request is a compile error here: it needs a row above.
fn kind(request: &Request) -> &'static str {
    match request {
        Request::Session(SessionRequest::Hello { .. }) => "hello",
        Request::Session(SessionRequest::Auth) => "auth",
        Request::Task(request) => match request {
            TaskRequest::Register { .. } => "register",
            TaskRequest::Unregister { .. } => "unregister",
            TaskRequest::Schedule(_) => "schedule",
            TaskRequest::Ack { .. } => "ack",
            TaskRequest::Nack { .. } => "nack",
            TaskRequest::Touch { .. } => "touch",
            TaskRequest::Cancel { .. } => "cancel",
            TaskRequest::Move {
                to: MoveTo::Now, ..
            } => "run_now",
            TaskRequest::Move { .. } => "reschedule",
            TaskRequest::Ping => "ping",
        },
        Request::Read(request) => match request {
            ReadRequest::Stats { .. } => "stats",
            ReadRequest::Dead { .. } => "dead",
            ReadRequest::Get { .. } => "get",
            ReadRequest::List(_) => "list",
            ReadRequest::Future => "future",
            ReadRequest::Jobs => "jobs",
            ReadRequest::Audit { .. } => "audit",
            ReadRequest::Reasons { .. } => "reasons",
            ReadRequest::Count(bulk) => bulk.act.as_str(),
            ReadRequest::Backup { .. } => "backup",
        },
        Request::Admin(request) => match request {
            AdminRequest::Kick { .. } => "kick",
            AdminRequest::Delete { .. } => "delete",
            AdminRequest::Bulk(bulk) => bulk.act.as_str(),
            AdminRequest::Pause { .. } => "pause",
            AdminRequest::Resume { .. } => "resume",
            AdminRequest::Stop { .. } => "stop",
        },
    }
}

#[test]
fn every_kind_of_request_has_a_row_here_and_in_the_protocol() {
    let one_right = REQUESTS.map(|(line, _)| line);
    let lines = [&FREE[..], &one_right, &BULK_MOVES, &EVERYWHERE, &[GET]].concat();
    let rows: BTreeSet<_> = lines.iter().map(|line| kind(&request(line))).collect();

    let refusal = parse(br#"{"kind":"x"}"#).unwrap_err().message;
    let (_, named) = refusal.split_once("give ").unwrap();
    let named: BTreeSet<_> = named.split([',', ' ']).collect();
    let named: BTreeSet<_> = named.difference(&["", "or"].into()).copied().collect();
    assert_eq!(rows, named);

    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../hyper-delay/PROTOCOL.md");
    let protocol = std::fs::read_to_string(file).unwrap();
    let (_, table) = protocol.split_once("| request | right |").unwrap();
    let table = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let first_cells = table.map(|row| row.split('|').nth(1).unwrap());
    let words = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let fields = ["route_key", "payload"];
    let described: BTreeSet<_> = words.filter(|word| !fields.contains(word)).collect();
    assert_eq!(rows, described);
}

#[test]
fn some_requests_need_no_right() {
    for line in FREE {
        assert_eq!(permits(None, &[], &request(line)), Ok(()), "{line}");
    }
}

#[test]
fn each_request_needs_one_right() {
    for (line, needed) in REQUESTS {
        let request = request(line);
        for right in Right::ALL {
            let wanted = match right == needed {
                true => Ok(()),
                false => Err(Denial::Missing(needed)),
            };
            let decided = permits(Some(&grant(&[right])), &[], &request);
            assert_eq!(decided, wanted, "{line}");
        }
        assert_eq!(permits(None, &[], &request), Err(Denial::NoToken), "{line}");
    }
}

#[test]
fn a_bulk_move_needs_schedule_or_admin() {
    let denial = Denial::Missing(Right::Schedule);
    for line in BULK_MOVES {
        let request = request(line);
        for right in Right::ALL {
            let wanted = match right {
                Right::Schedule | Right::Admin => Ok(()),
                Right::Consume => Err(denial),
            };
            let decided = permits(Some(&grant(&[right])), &[], &request);
            assert_eq!(decided, wanted, "{line}");
        }
        let elsewhere = grant_on(&Right::ALL, &["pay"]);
        assert_eq!(permits(Some(&elsewhere), &[], &request), Err(denial));
        assert_eq!(permits(None, &[], &request), Err(Denial::NoToken), "{line}");
    }
}

#[test]
fn rights_are_for_routes() {
    for (line, needed) in REQUESTS {
        if !line.contains("mail1") {
            continue;
        }
        let other = request(&line.replace("mail1", "pay"));
        let denied = permits(Some(&grant(&Right::ALL)), &[], &other);
        assert_eq!(denied, Err(Denial::Missing(needed)), "{line}");
    }
}

#[test]
fn route_of_the_connection_needs_both_rights_on_such_routes() {
    let own = request(r#"{"kind":"schedule","fire_at":0}"#);
    let both = [Right::Schedule, Right::Consume];
    for routes in [&["*"][..], &["mail", "conn-*"]] {
        assert_eq!(permits(Some(&grant_on(&both, routes)), &[], &own), Ok(()));
    }
    let denied = permits(Some(&grant_on(&both, &["mail*", "conn-1"])), &[], &own);
    assert_eq!(denied, Err(Denial::MissingOwn(Right::Schedule)));
    for (given, missing) in [
        (Right::Schedule, Right::Consume),
        (Right::Consume, Right::Schedule),
    ] {
        let denied = permits(Some(&grant_on(&[given], &["*"])), &[], &own);
        assert_eq!(denied, Err(Denial::MissingOwn(missing)));
    }
}

#[test]
fn what_is_of_all_routes_needs_the_right_on_every_route() {
    for line in EVERYWHERE {
        let request = request(line);
        let all = grant_on(&[Right::Admin], &["*"]);
        assert_eq!(permits(Some(&all), &[], &request), Ok(()), "{line}");
        for less in [
            grant_on(&[Right::Admin], &["mail*"]),
            grant_on(&[Right::Schedule, Right::Consume], &["*"]),
        ] {
            let denied = permits(Some(&less), &[], &request);
            assert_eq!(
                denied,
                Err(Denial::MissingEverywhere(Right::Admin)),
                "{line}"
            );
        }
        assert_eq!(permits(None, &[], &request), Err(Denial::NoToken), "{line}");
    }
}

#[test]
fn each_right_shows_a_task_and_payloads_need_consume_or_admin() {
    let state = request(GET);
    let payload = request(&GET.replace('}', r#","payload":true}"#));
    for right in Right::ALL {
        let grant = grant(&[right]);
        assert_eq!(permits(Some(&grant), &[], &state), Ok(()), "{right:?}");
        let wanted = match right {
            Right::Schedule => Err(Denial::MissingForPayload),
            _ => Ok(()),
        };
        assert_eq!(permits(Some(&grant), &[], &payload), wanted, "{right:?}");
    }
    let elsewhere = grant_on(&Right::ALL, &["pay"]);
    for (request, denial) in [
        (state, Denial::Missing(Right::Schedule)),
        (payload, Denial::MissingForPayload),
    ] {
        assert_eq!(permits(Some(&elsewhere), &[], &request), Err(denial));
        assert_eq!(permits(None, &[], &request), Err(Denial::NoToken));
    }
}

#[test]
fn only_requests_about_deliveries_and_registrations_use_other_tokens_of_the_connection() {
    let others = [Arc::new(grant_on(&Right::ALL, &["*"]))];
    let own = grant(&[]);
    for (line, needed) in REQUESTS {
        let request = request(line);
        let is_about_own_work = ["unregister", "ack", "nack", "touch"].contains(&kind(&request));
        let wanted = match is_about_own_work {
            true => Ok(()),
            false => Err(Denial::Missing(needed)),
        };
        assert_eq!(permits(Some(&own), &others, &request), wanted, "{line}");
    }
    for line in EVERYWHERE {
        let denied = permits(Some(&own), &others, &request(line));
        assert_eq!(
            denied,
            Err(Denial::MissingEverywhere(Right::Admin)),
            "{line}"
        );
    }
    let denied = permits(Some(&own), &others, &request(GET));
    assert_eq!(denied, Err(Denial::Missing(Right::Schedule)));
}
