use super::*;

const TTL: Duration = Duration::from_secs(8);

fn at(seconds: u64) -> Now {
    Now {
        wall_nanos: 0,
        monotonic: Tick::new(nanos(Duration::from_secs(seconds))),
    }
}

fn member() -> Member {
    Member {
        node: "a".into(),
        address: "a:1".into(),
    }
}

fn missing_links() -> Arc<[MissingLink]> {
    let link = MissingLink {
        to: "b".into(),
        why: "it is down".into(),
        versions_differ: false,
    };
    [link].into()
}

fn announces(lease: u64, over: u64) -> Option<LogRequest> {
    Some(LogRequest::Announce {
        member: member(),
        lease: LeaseId(lease),
        ttl: TTL,
        replaces: over,
    })
}

fn keep_alive(lease: u64) -> Option<LogRequest> {
    Some(LogRequest::KeepAlive {
        member: member(),
        lease: LeaseId(lease),
        ttl: TTL,
        missing_links: missing_links(),
    })
}

fn in_the_way(revision: u64, lease: u64) -> LogAnswer {
    LogAnswer::Announced(AnnounceOutcome::Not(Some(Heartbeat {
        revision,
        lease: LeaseId(lease),
        ttl: Duration::from_secs(5),
    })))
}

const DONE: LogAnswer = LogAnswer::Announced(AnnounceOutcome::Done);

fn ask(lease: &mut Lease, call: u64, now: Now) -> Option<LogRequest> {
    let request = lease.request(|| CallId(call), missing_links, now)?;
    assert_eq!(request.0, CallId(call));
    Some(request.1)
}

fn answer(lease: &mut Lease, call: u64, answer: LogAnswer, now: Now) {
    assert!(lease.answered(CallId(call), &Ok(answer), now));
}

fn new() -> Lease {
    Lease::new(LeaseTimes::of(TTL), member(), LeaseId(10), at(10))
}

/// A lease whose term has begun: sent at 10, ends at 18, stops at 17.
fn begun() -> Lease {
    let mut lease = new();
    assert_eq!(ask(&mut lease, 1, at(10)), announces(5, 0));
    assert_eq!(ask(&mut lease, 2, at(10)), None, "one at a time");
    answer(&mut lease, 1, DONE, at(10));
    assert_eq!(lease.term(), None);
    assert_eq!(ask(&mut lease, 2, at(10)), keep_alive(5));
    answer(&mut lease, 2, LogAnswer::Alive(true), at(12));
    lease
}

#[test]
fn it_holds_from_when_the_sign_of_life_was_sent_less_the_margin() {
    let term = begun().term().unwrap();
    assert_eq!(term.lease, LeaseId(5));
    assert!(term.holds(at(16)));
    assert!(!term.holds(at(17)));
}

#[test]
fn it_is_kept_alive_at_a_quarter_of_its_time() {
    let mut lease = begun();
    // The first heartbeat was sent at 10.
    assert_eq!(ask(&mut lease, 3, at(11)), None);
    assert_eq!(ask(&mut lease, 3, at(12)), keep_alive(5));
    answer(&mut lease, 3, LogAnswer::Alive(true), at(13));
    assert!(lease.term().unwrap().holds(at(18)));
    assert!(!lease.term().unwrap().holds(at(19)));
}

#[test]
fn it_waits_until_the_heartbeat_of_an_earlier_process_was_silent_for_its_time() {
    let mut lease = new();
    ask(&mut lease, 1, at(10)).unwrap();
    answer(&mut lease, 1, in_the_way(70, 99), at(11));
    assert_eq!(ask(&mut lease, 2, at(15)), None);
    assert_eq!(ask(&mut lease, 2, at(16)), announces(5, 70));
    // It was alive.
    answer(&mut lease, 2, in_the_way(80, 99), at(17));
    assert_eq!(ask(&mut lease, 3, at(21)), None);
    assert_eq!(ask(&mut lease, 3, at(22)), announces(5, 80));
    // It has left meanwhile.
    let gone = LogAnswer::Announced(AnnounceOutcome::Not(None));
    answer(&mut lease, 3, gone, at(22));
    assert_eq!(ask(&mut lease, 4, at(22)), announces(5, 0));
}

#[test]
fn an_announcement_without_an_answer_is_repeated() {
    let mut lease = new();
    ask(&mut lease, 1, at(10)).unwrap();
    let lost = Err(LogUnanswered("no answer".into()));
    assert!(lease.answered(CallId(1), &lost, at(12)));
    assert_eq!(ask(&mut lease, 2, at(12)), announces(5, 0));
}

#[test]
fn without_an_answer_it_stops_holding() {
    let mut lease = begun();
    ask(&mut lease, 3, at(12)).unwrap();
    let lost = Err(LogUnanswered("no answer".into()));
    assert!(lease.answered(CallId(3), &lost, at(14)));
    assert_eq!(
        ask(&mut lease, 4, at(14)),
        keep_alive(5),
        "it may be in time"
    );
    assert!(!lease.term().unwrap().holds(at(17)));
}

#[test]
fn an_answer_after_its_end_does_not_revive_it() {
    let mut lease = begun();
    ask(&mut lease, 3, at(16)).unwrap();
    answer(&mut lease, 3, LogAnswer::Alive(true), at(17));
    assert!(!lease.term().unwrap().holds(at(17)));
    // Its whole time has passed at 18.
    assert_eq!(ask(&mut lease, 4, at(17)), None);
    assert_eq!(lease.term(), None);
    assert_eq!(ask(&mut lease, 4, at(18)), announces(6, 0));
    // Its own earlier heartbeat is not waited for.
    answer(&mut lease, 4, in_the_way(50, 5), at(18));
    assert_eq!(ask(&mut lease, 5, at(18)), announces(6, 50));
    answer(&mut lease, 5, DONE, at(18));
    assert_eq!(ask(&mut lease, 6, at(18)), keep_alive(6));
    answer(&mut lease, 6, LogAnswer::Alive(true), at(19));
    assert_eq!(lease.term().unwrap().lease, LeaseId(6));
    assert!(lease.term().unwrap().holds(at(24)));
}

#[test]
fn one_that_was_replaced_by_another_process_is_given_up() {
    let mut lease = begun();
    ask(&mut lease, 3, at(12)).unwrap();
    answer(&mut lease, 3, LogAnswer::Alive(false), at(13));
    assert_eq!(lease.term(), None);
    assert_eq!(ask(&mut lease, 4, at(17)), None);
    assert_eq!(ask(&mut lease, 4, at(18)), announces(6, 0));
}

#[test]
fn one_that_has_no_term_yet_is_replaced_at_once() {
    let mut lease = new();
    ask(&mut lease, 1, at(10)).unwrap();
    answer(&mut lease, 1, DONE, at(10));
    ask(&mut lease, 2, at(10)).unwrap();
    answer(&mut lease, 2, LogAnswer::Alive(false), at(11));
    assert_eq!(ask(&mut lease, 3, at(11)), announces(6, 0));
}

#[test]
fn the_end_names_the_current_lease() {
    let leaves = LogRequest::Leave {
        node: "a".into(),
        lease: LeaseId(5),
    };
    assert_eq!(begun().leave_request(), leaves);
}

#[test]
fn a_late_answer_changes_nothing() {
    let mut lease = begun();
    let before = lease.term();
    assert!(!lease.answered(CallId(1), &Ok(LogAnswer::Alive(false)), at(12)));
    assert_eq!(lease.term(), before);
}
