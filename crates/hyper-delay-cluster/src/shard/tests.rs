mod blind;
mod delay;
mod disk_space;
mod follower;
mod idle;
mod reports;
mod sessions;
mod snapshot;

use std::time::Duration;

use race_wheel::Tick;

use super::{fixture::setup, *};
use crate::{
    Charter, ShardId,
    forward::wire::{ForwardedRequest, ToConnection, ToLeader, ToServing},
    lease::{Lease, LeaseTimes},
    log::{LeaseId, LogRequest, LogUnanswered, Member, fake::FakeLog},
    replica::genesis,
};
use hyper_delay_engine::scheduler::RouteRequest;
use hyper_delay_engine::{clock::nanos, ledger::TaskRevision, scheduler::ConsumerId};
use hyper_delay_protocol::{Code, Compression, Due, Headers, Reply, Schedule};
use hyper_delay_store::{StoreError, fake::Fake};

const CHARTER: Charter = Charter {
    cluster: 7,
    shards: 1,
};
const SHARD: ShardId = ShardId(0);
const LEASE: Duration = Duration::from_secs(2);
const PEER: PeerId = PeerId(3);
const CLIENT: ConsumerId = 70;

/// A node that leads the only shard, with the log.
struct World {
    log: FakeLog,
    shard: Shard<Fake>,
    term: Option<Term>,
    now: Now,
    to_peers: Vec<ToServing>,
    log_requests: Vec<LogRequest>,
}

impl World {
    fn new() -> Self {
        let mut log = FakeLog::default();
        log.create(SHARD, genesis(CHARTER, SHARD).bytes);
        log.carry_out(&LogRequest::Join(Member {
            node: "a".into(),
            address: "a:1".into(),
        }));
        let now = Now {
            wall_nanos: 1_000_000_000_000,
            monotonic: Tick::new(1_000_000_000),
        };
        let member = Member {
            node: "a".into(),
            address: "a:1".into(),
        };
        let mut calls = CallIds::default();
        let mut lease = Lease::new(LeaseTimes::of(LEASE), member.clone(), LeaseId(5), now);
        for _ in 0..2 {
            let (call, request) = lease.request(|| calls.next(), || [].into(), now).unwrap();
            let answer = log.carry_out(&request);
            assert!(lease.answered(call, &Ok(answer), now));
        }
        let shard = Shard::open(Arc::default(), setup(), [member.node].into(), now).unwrap();
        let mut world = Self {
            log,
            shard,
            term: lease.term(),
            now,
            to_peers: Vec::new(),
            log_requests: Vec::new(),
        };
        world.settle();
        assert!(world.shard.is_leading());
        world
    }

    fn event(&mut self, event: ShardEvent) {
        self.shard.handle(event, self.now, self.term);
    }

    /// Lets the log answer until nothing more is asked.
    fn settle(&mut self) {
        loop {
            self.shard.tick(self.now, self.term);
            let effects = self.shard.take_effects();
            self.to_peers
                .extend(effects.to_peers.into_iter().map(|(_, message)| message));
            if effects.calls.is_empty() {
                return;
            }
            for (call, request) in effects.calls {
                let answer = self.log.carry_out(&request);
                self.log_requests.push(request);
                self.event(ShardEvent::Answered(call, Ok(answer)));
            }
        }
    }

    fn says(&mut self, message: ToLeader) {
        self.event(ShardEvent::PeerMessage(PEER, message));
    }

    /// A serving node begins its first session.
    fn begin(&mut self) {
        self.begin_again(None);
    }

    /// A serving node begins a session. The last copy of an earlier one that has arrived there had the
    /// number `last_copy`.
    fn begin_again(&mut self, heard: Option<u64>) {
        self.says(ToLeader::Begin {
            epoch: self.shard.fence().unwrap().epoch,
            node: "a".into(),
            sent: Tick::ZERO,
            last_copy: heard,
        });
        self.settle();
        let accepted = matches!(self.to_peers.last(), Some(ToServing::Accepted { .. }));
        assert!(accepted, "{:?}", self.to_peers);
    }

    fn asks(&mut self, number: u32, request: RouteRequest) {
        let forwarded = Box::new(ForwardedRequest::Request(request));
        self.says(ToLeader::Request(CLIENT, number, forwarded));
    }

    /// The numbers of the requests that are answered.
    fn answered(&mut self) -> Vec<u32> {
        self.settle();
        let to_peers = std::mem::take(&mut self.to_peers).into_iter();
        let numbers = to_peers.filter_map(|message| match message {
            ToServing::Connection(
                CLIENT,
                ToConnection::Reply(number, _) | ToConnection::Quiet(number),
            ) => Some(number),
            _ => None,
        });
        numbers.collect()
    }

    /// The copies that the connection was sent.
    fn copies(&self) -> Vec<TaskRevision> {
        let to_peers = self.to_peers.iter().filter_map(|message| match message {
            ToServing::Connection(CLIENT, ToConnection::Deliver(copy)) => {
                Some(copy.revision.clone())
            }
            _ => None,
        });
        to_peers.collect()
    }

    fn is_led(&self) -> bool {
        self.log.shard(SHARD).leader.is_some()
    }
}

fn cancel() -> RouteRequest {
    RouteRequest::Cancel {
        route: "r".into(),
        id: "x".into(),
    }
}

fn schedule(id: &str) -> RouteRequest {
    schedule_at(id, 1_000_000)
}

fn schedule_at(id: &str, fire_at: u64) -> RouteRequest {
    schedule_due(id, Due::At(fire_at))
}

fn schedule_due(id: &str, due: Due) -> RouteRequest {
    let (route, id): (Arc<str>, Arc<str>) = ("r".into(), id.into());
    let schedule = Schedule {
        due,
        id: Some(id.clone()),
        route: Some(route.clone()),
        compression: Compression::None,
        payload: b"work".to_vec().into(),
        replace: false,
        headers: Headers::default(),
        terms: None,
    };
    RouteRequest::Schedule {
        route,
        id,
        schedule,
        grant: None,
    }
}

fn register() -> RouteRequest {
    RouteRequest::Register {
        route: "r".into(),
        mode: hyper_delay_protocol::RegisterMode::Shared,
    }
}

#[test]
fn every_request_of_a_connection_without_routes_is_answered() {
    let mut world = World::new();
    world.begin();
    for number in 1..=3 {
        world.asks(number, cancel());
    }
    assert_eq!(world.answered(), [1, 2, 3]);
}

#[test]
fn a_connection_that_opens_while_a_request_is_under_way_gets_all_replies() {
    let mut world = World::new();
    world.begin();
    world.asks(1, cancel());
    world.says(ToLeader::Opened(CLIENT));
    world.asks(2, register());
    assert_eq!(world.answered(), [2, 1]);
    world.asks(3, cancel());
    assert_eq!(world.answered(), [3]);
}

#[test]
fn a_connection_that_closes_gets_the_replies_to_what_it_asked() {
    let mut world = World::new();
    world.begin();
    world.says(ToLeader::Opened(CLIENT));
    world.asks(1, register());
    world.asks(2, cancel());
    world.says(ToLeader::Closed(CLIENT));
    assert_eq!(world.answered(), [1, 2]);
    world.asks(3, cancel());
    assert_eq!(world.answered(), [3], "its number can ask again");
}

#[test]
fn a_leader_whose_disk_fails_lets_another_one_lead() {
    let mut world = World::new();
    let error = StoreError::new("sync", std::io::Error::other("it is broken"));
    world.event(ShardEvent::Persisted(Err(error)));
    assert!(world.shard.stopped().is_some());
    world.shard.tick(world.now, world.term);
    let mut calls = world.shard.take_effects().calls;
    calls.retain(|(_, request)| matches!(request, LogRequest::Resign(_)));
    let [(call, _)] = calls[..] else {
        panic!("{calls:?}");
    };
    world.event(ShardEvent::Answered(
        call,
        Err(LogUnanswered("no answer".into())),
    ));
    assert!(world.is_led());
    world.now.monotonic = world.now.after(Duration::from_millis(100));
    world.settle();
    assert!(!world.is_led(), "it was repeated");
    assert!(world.shard.has_no_leadership());
}

#[test]
fn a_leadership_ends_in_the_log_when_its_serving_nodes_have_released_it() {
    let mut world = World::new();
    world.begin();
    let epoch = world.shard.fence().unwrap().epoch;
    world.event(ShardEvent::HandOver);
    world.settle();
    let ended = |message: &ToServing| matches!(message, ToServing::Ended { .. });
    assert!(world.to_peers.iter().any(ended));
    assert!(world.is_led(), "the node can still write deliveries");
    world.says(ToLeader::Released { epoch });
    world.settle();
    assert!(!world.is_led());
}

#[test]
fn a_leadership_ends_in_the_log_when_the_time_of_its_serving_nodes_is_over() {
    let mut world = World::new();
    world.begin();
    world.event(ShardEvent::HandOver);
    world.settle();
    world.now.monotonic = world
        .now
        .after(LEASE / 2 + LEASE / 8 - Duration::from_millis(1));
    world.settle();
    assert!(world.is_led());
    world.now.monotonic = world.now.after(Duration::from_millis(1));
    world.settle();
    assert!(!world.is_led());
}

#[test]
fn a_journal_that_most_nodes_lack_takes_no_more_tasks() {
    let mut world = World::new();
    world.shard.setup.retention = 2_000;
    let lease = world.term.unwrap().lease;
    let until = Tick::new(u64::MAX);
    world.term = Some(Term { lease, until });
    world.begin();
    let later = |world: &mut World| {
        for _ in 0..3 {
            world.now.monotonic = world.now.after(world.shard.setup.sync_interval);
            world.settle();
        }
    };
    let schedules = |world: &mut World, number: u32| {
        world.to_peers.clear();
        world.asks(number, schedule(&number.to_string()));
        world.settle();
        let refusal = world.to_peers.iter().find_map(|message| match message {
            ToServing::Connection(_, ToConnection::Reply(_, Reply::Error(refusal))) => {
                Some(refusal.code)
            }
            _ => None,
        });
        refusal.map_or(Ok(()), Err)
    };
    for number in 0..40 {
        assert_eq!(schedules(&mut world, number), Ok(()));
    }
    later(&mut world);
    assert_eq!(schedules(&mut world, 40), Err(Code::Unavailable));
    world.to_peers.clear();
    world.asks(41, cancel());
    assert_eq!(world.answered(), [41], "what ends tasks is still taken");
    let applied = world.shard.applied();
    world.event(ShardEvent::Persisted(Ok(applied)));
    later(&mut world);
    assert_eq!(schedules(&mut world, 42), Ok(()), "a majority has it");
}

#[test]
fn a_planned_end_passes_on_what_is_in_flight_and_not_answered() {
    let mut world = World::new();
    world.begin();
    world.says(ToLeader::Opened(CLIENT));
    world.says(ToLeader::Lent(CLIENT, 5));
    world.says(ToLeader::Ready);
    world.asks(1, register());
    for (number, id) in [(2, "x"), (3, "y")] {
        world.asks(number, schedule(id));
    }
    world.settle();
    let copies = world.copies();
    assert_eq!(copies.len(), 2);
    world.event(ShardEvent::HandOver);
    world.says(ToLeader::Acked {
        consumer: CLIENT,
        revision: copies[0].clone(),
        confirm: Some(4),
    });
    assert_eq!(world.answered(), [1, 2, 3, 4]);
    let (_, last) = world.log.shard(SHARD).journal.last_key_value().unwrap();
    assert_eq!(handed_over_copies(last), 1);
    assert!(!world.shard.is_leading());
}

#[test]
fn a_leader_that_hears_of_a_later_leadership_resigns_at_once() {
    let mut world = World::new();
    world.begin();
    let fence = world.shard.fence().unwrap();
    let leader = |epoch: u64| Leader {
        member: Member {
            node: "b".into(),
            address: "b:1".into(),
        },
        epoch,
        lease: LeaseId(6),
    };
    let before = fence.epoch - 1;
    world.event(ShardEvent::Leader(Some(leader(before)), before));
    world.event(ShardEvent::Leader(None, before));
    assert_eq!(world.shard.fence(), Some(fence), "that was before");
    let known = world.shard.leader().map(|leader| leader.epoch);
    assert_eq!(known, Some(fence.epoch));
    let later = leader(fence.epoch + 1);
    world.event(ShardEvent::Leader(Some(later.clone()), fence.epoch + 1));
    assert_eq!(world.shard.fence(), None);
    assert_eq!(world.shard.leader(), Some(&later));
    let effects = world.shard.take_effects();
    let ended = |message: &(PeerId, ToServing)| matches!(message.1, ToServing::Ended { .. });
    assert!(effects.to_peers.iter().any(ended), "{:?}", effects.to_peers);
    assert_eq!(effects.changes, [LeadershipChange::Ends(fence)]);
}
