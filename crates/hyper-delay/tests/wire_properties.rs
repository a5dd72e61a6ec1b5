//! Properties of the line protocol, for random bytes and random requests of every kind.

#[path = "wire/pieces.rs"]
mod pieces;
mod wire;

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use hyper_delay::protocol::{
    Accept, AdminRequest, BulkAct, BulkMove, BulkMoveTo, BulkRequest, Compression, Credential, Due,
    Filter, Headers, Line, List, Mode, MoveTo, Named, ReadRequest, Request, Schedule,
    SessionRequest, State, TaskRequest, Terms, parse,
};
use pieces::PIECES;
use proptest::{collection::vec, option::of, prelude::*, sample::select, string::string_regex};

/// An id, a route or a tag: any characters, at most 128 bytes.
fn name() -> impl Strategy<Value = Arc<str>> {
    let plain = string_regex("[a-z0-9-]{1,128}").expect("a valid expression");
    let wild = vec(any::<char>(), 1..=32).prop_map(String::from_iter);
    prop_oneof![plain, wild].prop_map(Arc::from)
}

fn named() -> impl Strategy<Value = Named> {
    (name(), of(name()), of(1..=u32::MAX)).prop_map(|(id, route, attempt)| Named {
        id,
        route,
        attempt,
    })
}

/// Any valid time: those that look like Unix seconds are refused.
fn fire_at() -> impl Strategy<Value = u64> {
    prop_oneof![0..100_000_000_u64, 100_000_000_000..=1_u64 << 53]
}

/// A time or a delay.
fn due() -> impl Strategy<Value = Due> {
    let delay = 0..=1_u64 << 53;
    prop_oneof![2 => fire_at().prop_map(Due::At), 1 => delay.prop_map(Due::After)]
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let label = select(&Compression::ALL[..]);
    let payload = vec(any::<u8>(), 0..200).prop_map(Vec::into_boxed_slice);
    let task = (
        of(name()),
        of(name()),
        due(),
        label,
        payload,
        any::<bool>(),
        (headers(), terms()),
    );
    task.prop_map(
        |(id, route, due, compression, payload, replace, (headers, mut terms))| {
            // It must be later than a due time.
            let fire_at = due.at(0);
            let expires_at = terms.expires_at.map(|after| (fire_at + after).max(1 << 40));
            terms.expires_at = expires_at.filter(|at| (fire_at + 1..=1 << 53).contains(at));
            Schedule {
                id,
                route,
                due,
                compression,
                payload,
                replace,
                headers,
                terms: (terms != Terms::default()).then(|| Box::new(terms)),
            }
        },
    )
}

/// Up to 32 names with any characters.
fn headers() -> impl Strategy<Value = Headers> {
    let text = vec(any::<char>(), 0..=16).prop_map(String::from_iter);
    let name = vec(any::<char>(), 1..=16).prop_map(String::from_iter);
    let pairs = prop::collection::btree_map(name, text, 0..=32);
    pairs.prop_map(|pairs| match serde_json::to_string(&pairs) {
        Ok(text) if (3..=4_096).contains(&text.len()) => Headers::of_text(&text),
        _ => Headers::default(),
    })
}

fn terms() -> impl Strategy<Value = Terms> {
    const DAY: u64 = 86_400_000;
    let delays = (of(1..=DAY), of(1..=DAY));
    let terms = (of(1..1_u64 << 52), of(1..=DAY), of(1..=u32::MAX), delays);
    terms.prop_map(
        |(expires_at, ack_timeout_ms, max_attempts, (first, longest))| Terms {
            expires_at,
            ack_timeout_ms,
            max_attempts,
            retry_delay_ms: first,
            max_retry_delay_ms: longest.map(|longest| longest.max(first.unwrap_or(1))),
        },
    )
}

fn filter(has_reason: bool) -> impl Strategy<Value = Filter> {
    let reason = of(prop_oneof![Just(Arc::from("")), name()]);
    let times = of((0..1_u64 << 52, 1..1_u64 << 52));
    (reason, times, any::<[bool; 2]>()).prop_map(move |(reason, times, is_given)| Filter {
        reason: reason.filter(|_| has_reason),
        from: times.map(|(from, _)| from).filter(|_| is_given[0]),
        until: times.map(|(from, by)| from + by).filter(|_| is_given[1]),
    })
}

fn list() -> impl Strategy<Value = List> {
    let state = of(select(vec![
        State::Waiting,
        State::Parked,
        State::Dead,
        State::Retrying,
    ]));
    let asked = (
        of(name()),
        state,
        filter(true),
        of(name()),
        1..=1_000_u16,
        any::<bool>(),
    );
    asked.prop_map(|(route, state, filter, after, limit, payload)| List {
        route,
        state,
        filter: Filter {
            // Other lists ignore it.
            reason: filter.reason.filter(|_| state == Some(State::Retrying)),
            ..filter
        },
        after,
        limit,
        payload,
    })
}

fn accept() -> impl Strategy<Value = Accept> {
    vec(select(&Compression::ALL[..]), 1..4).prop_map(|listed| Accept::only(&listed))
}

fn session() -> impl Strategy<Value = SessionRequest> {
    prop_oneof![
        (1..=1_u64 << 53, any::<bool>())
            .prop_map(|(protocol, strict)| SessionRequest::Hello { protocol, strict }),
        Just(SessionRequest::Auth),
    ]
}

fn task() -> impl Strategy<Value = TaskRequest> {
    let mode = select(vec![Mode::Shared, Mode::Exclusive]);
    prop_oneof![
        (name(), of(1..=u16::MAX), mode, of(accept())).prop_map(|(route, credit, mode, accept)| {
            TaskRequest::Register {
                route,
                credit,
                mode,
                accept,
            }
        }),
        name().prop_map(|route| TaskRequest::Unregister { route }),
        schedule().prop_map(TaskRequest::Schedule),
        (named(), any::<bool>())
            .prop_map(|(delivery, confirm)| TaskRequest::Ack { delivery, confirm }),
        (named(), of(0..=1_u64 << 53), of(name()), any::<bool>()).prop_map(
            |(delivery, delay_ms, reason, failed)| TaskRequest::Nack {
                delivery,
                delay_ms,
                reason,
                failed,
            }
        ),
        (named(), of(1..=86_400_000_u64)).prop_map(|(delivery, extend_ms)| TaskRequest::Touch {
            delivery,
            extend_ms,
        }),
        (name(), name()).prop_map(|(route, id)| TaskRequest::Cancel { route, id }),
        (
            name(),
            name(),
            prop_oneof![Just(MoveTo::Now), fire_at().prop_map(MoveTo::At)]
        )
            .prop_map(|(route, id, to)| TaskRequest::Move { route, id, to }),
        Just(TaskRequest::Ping),
    ]
}

fn bulk() -> impl Strategy<Value = Box<BulkRequest>> {
    let dead = select(vec![BulkAct::Kick, BulkAct::Delete]);
    let of_dead_letters =
        (dead, name(), filter(true)).prop_map(|(act, route, filter)| BulkRequest {
            act,
            route,
            filter,
            in_flight: false,
        });
    let purge = (name(), any::<bool>()).prop_map(|(route, in_flight)| BulkRequest {
        act: BulkAct::Purge,
        route,
        filter: Filter::default(),
        in_flight,
    });
    let moves =
        (name(), filter(true), bulk_move()).prop_map(|(route, filter, moves)| BulkRequest {
            act: BulkAct::Move(moves),
            route,
            filter,
            in_flight: false,
        });
    prop_oneof![of_dead_letters, purge, moves].prop_map(Box::new)
}

fn bulk_move() -> impl Strategy<Value = BulkMove> {
    let to = prop_oneof![
        Just(BulkMoveTo::Now),
        fire_at().prop_map(BulkMoveTo::At),
        (1..=1_u64 << 53).prop_map(BulkMoveTo::Later),
    ];
    let states = vec![State::Waiting, State::Parked, State::Retrying];
    (to, of(select(states))).prop_map(|(to, state)| BulkMove { to, state })
}

fn read() -> impl Strategy<Value = ReadRequest> {
    let limit = 1..=1_000_u16;
    prop_oneof![
        (of(name()), of(name())).prop_map(|(route, after)| ReadRequest::Stats { route, after }),
        (
            name(),
            of(name()),
            limit.clone(),
            filter(true),
            any::<bool>()
        )
            .prop_map(|(route, after, limit, filter, payload)| ReadRequest::Dead {
                route,
                after,
                limit,
                filter: Box::new(filter),
                payload,
            }),
        (name(), name(), any::<bool>()).prop_map(|(route, id, payload)| ReadRequest::Get {
            route,
            id,
            payload
        }),
        list().prop_map(|list| ReadRequest::List(Box::new(list))),
        Just(ReadRequest::Future),
        Just(ReadRequest::Jobs),
        (of(1..=1_u64 << 53), limit)
            .prop_map(|(before, limit)| ReadRequest::Audit { before, limit }),
        (of(name()), any::<bool>(), of(name())).prop_map(|(route, retrying, after)| {
            let state = match retrying {
                true => State::Retrying,
                false => State::Dead,
            };
            ReadRequest::Reasons {
                route,
                state,
                after,
            }
        }),
        bulk().prop_map(ReadRequest::Count),
        (0..=1_u64 << 53).prop_map(|offset| ReadRequest::Backup { offset }),
    ]
}

fn admin() -> impl Strategy<Value = AdminRequest> {
    prop_oneof![
        (name(), name()).prop_map(|(route, id)| AdminRequest::Kick { route, id }),
        (name(), name()).prop_map(|(route, id)| AdminRequest::Delete { route, id }),
        bulk().prop_map(AdminRequest::Bulk),
        name().prop_map(|route| AdminRequest::Pause { route }),
        name().prop_map(|route| AdminRequest::Resume { route }),
        (1..=1_u64 << 53).prop_map(|job| AdminRequest::Stop { job }),
    ]
}

/// Each kind is about as likely as any other. Boxed, because what is drawn is large on the stack.
fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        2 => session().prop_map(Request::from).boxed(),
        8 => task().prop_map(Request::from).boxed(),
        10 => read().prop_map(Request::from).boxed(),
        6 => admin().prop_map(Request::from).boxed(),
    ]
}

fn line() -> impl Strategy<Value = Line> {
    let tag = of(prop_oneof![Just(Arc::from("")), name()]);
    (tag, request(), of(token())).prop_map(|(tag, request, token)| {
        let token = match &request {
            Request::Session(SessionRequest::Auth) => {
                Some(token.unwrap_or_else(|| Credential::new("")))
            }
            Request::Task(TaskRequest::Register { .. } | TaskRequest::Schedule(_)) => token,
            _ => None,
        };
        Line {
            tag,
            token: token.map(Box::new),
            request,
        }
    })
}

/// A token, well-formed or not.
fn token() -> impl Strategy<Value = Credential> {
    let formed = (any::<u64>(), any::<[u8; 32]>()).prop_map(|(id, random)| {
        let (id, random) = (id & 0xffff_ffff_ffff, BASE64_URL_SAFE_NO_PAD.encode(random));
        let token = Credential::new(&format!("hd_{id:012x}_{random}"));
        assert!(token.secret().is_some());
        token
    });
    prop_oneof![formed, Just(Credential::new("no token"))]
}

proptest! {
    #[test]
    fn any_bytes_are_split_and_parsed_or_refused(bytes in vec(any::<u8>(), 0..300)) {
        wire::check(&bytes);
    }

    #[test]
    fn pieces_of_json_are_split_and_parsed_or_refused(pieces in vec(select(PIECES), 0..40)) {
        wire::check(pieces.concat().as_bytes());
    }

    #[test]
    fn every_encoded_request_parses_to_itself(line in line()) {
        let mut text = wire::encode(&line);
        prop_assert_eq!(parse(&text), Ok(line));
        text.push(b'\n');
        wire::check(&text);
    }

    #[test]
    fn a_cut_request_is_refused_and_a_damaged_one_is_parsed_or_refused(
        line in line(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut text = wire::encode(&line);
        let at = at.index(text.len());
        prop_assert!(parse(&text[..at]).is_err());
        text[at] = byte;
        text.push(b'\n');
        wire::check(&text);
    }

    #[test]
    fn lines_do_not_depend_on_where_the_bytes_are_cut(
        pieces in vec(select(&["\n", "\r", "x", "line", "{\"kind\":\"ping\"}"][..]), 0..60),
        cuts in vec(any::<prop::sample::Index>(), 0..10),
        limit in 0..20_usize,
    ) {
        let bytes = pieces.concat().into_bytes();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let parts = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]);
        prop_assert_eq!(wire::split(limit, parts), wire::split(limit, [&bytes[..]]));
    }
}
