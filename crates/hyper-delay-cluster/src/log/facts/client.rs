//! A node that asks the log, for tests.

use std::{sync::Arc, time::Duration};

use crate::{
    Charter, ShardId,
    log::{
        Announced, Answer, Appended, Beat, Fence, Leader, LeaseId, Led, Log, Member, Membership,
        MissingLink, NodeName, Over, Request, Tail,
    },
};

/// How long the leases last. Nothing depends on it: the log keeps no time.
pub(crate) const TTL: Duration = Duration::from_millis(2_500);

pub(crate) const SHARD: ShardId = ShardId(0);

pub(crate) const CHARTER: Charter = Charter {
    cluster: 0x1234_5678_9abc_def0_1234_5678_9abc_def0,
    shards: 3,
};

pub(crate) fn member(name: &str) -> Member {
    Member {
        node: name.into(),
        address: format!("{name}.example:7000").into(),
    }
}

pub(crate) fn entry(text: &str) -> Arc<[u8]> {
    text.as_bytes().into()
}

/// A node that asks the log. Every method panics if there is no answer, or one of another kind.
pub(crate) struct Node<'a, L> {
    pub(crate) log: &'a L,
    pub(crate) name: &'static str,
    pub(crate) lease: LeaseId,
}

macro_rules! answered {
    ($self:ident, $request:expr, $pattern:pat => $value:expr) => {
        match $self.ask($request).await {
            $pattern => $value,
            other => panic!("{other:?} is no answer to this request"),
        }
    };
}

impl<'a, L: Log> Node<'a, L> {
    /// A node with a lease of its own that has not begun, in a cluster that is made if there is
    /// none.
    pub(crate) async fn new(log: &'a L, name: &'static str) -> Self {
        let lease = LeaseId(fastrand::u64(..));
        let node = Self { log, name, lease };
        node.found(CHARTER).await;
        node
    }

    /// A node whose lease has begun.
    pub(crate) async fn announced(log: &'a L, name: &'static str) -> Self {
        let node = Self::new(log, name).await;
        assert_eq!(node.announce(0).await, Announced::Done);
        node
    }

    pub(crate) async fn ask(&self, request: Request) -> Answer {
        self.log.call(request).await.unwrap()
    }

    pub(crate) async fn found(&self, charter: Charter) -> Charter {
        answered!(self, Request::Found(charter), Answer::Founded(charter) => charter)
    }

    pub(crate) async fn announce(&self, over: u64) -> Announced {
        let request = Request::Announce {
            member: member(self.name),
            lease: self.lease,
            ttl: TTL,
            over,
        };
        answered!(self, request, Answer::Announced(announced) => announced)
    }

    pub(crate) async fn keep_alive(&self) -> bool {
        self.keep_alive_without([].into()).await
    }

    /// Gives a sign of life that tells of missing links.
    pub(crate) async fn keep_alive_without(&self, missing_links: Arc<[MissingLink]>) -> bool {
        let request = Request::KeepAlive {
            member: member(self.name),
            lease: self.lease,
            ttl: TTL,
            missing_links,
        };
        answered!(self, request, Answer::Alive(is_alive) => is_alive)
    }

    pub(crate) async fn leave(&self) {
        let request = Request::Leave {
            node: self.name.into(),
            lease: self.lease,
        };
        answered!(self, request, Answer::Done => ());
    }

    /// Returns the heartbeat of a member.
    pub(crate) async fn beat_of(&self, name: &str) -> Option<Beat> {
        self.ask(Request::Join(member(name))).await;
        let mut members = self.members().await.into_iter();
        let member = members.find(|it| &*it.member.node == name);
        member.expect("it has joined").beat
    }

    pub(crate) async fn lead(&self) -> Option<Leader> {
        self.take_over(None).await.map(|led| led.leader)
    }

    pub(crate) async fn take_over(&self, over: Option<Over>) -> Option<Led> {
        let request = Request::Lead {
            shard: SHARD,
            lease: self.lease,
            member: member(self.name),
            over,
        };
        answered!(self, request, Answer::Leads(led) => led)
    }

    /// Leads the shard for the first time, or panics.
    pub(crate) async fn fence(&self) -> Fence {
        let leader = self.lead().await.unwrap();
        assert_eq!(
            (&leader.member, leader.lease),
            (&member(self.name), self.lease)
        );
        Fence {
            shard: SHARD,
            epoch: leader.epoch,
            lease: leader.lease,
        }
    }

    pub(crate) async fn resign(&self, fence: Fence) {
        answered!(self, Request::Resign(fence), Answer::Done => ());
    }

    pub(crate) async fn append(&self, fence: Fence, seq: u64, entry: &Arc<[u8]>) -> Appended {
        let entry = entry.clone();
        let request = Request::Append { fence, seq, entry };
        answered!(self, request, Answer::Appended(appended) => appended)
    }

    pub(crate) async fn tail(&self, from: u64) -> Tail {
        let request = Request::Tail {
            shard: SHARD,
            from,
            node: self.name.into(),
        };
        answered!(self, request, Answer::Tail(tail) => tail)
    }

    pub(crate) async fn first(&self) -> (u64, Arc<[u8]>) {
        self.first_from(0).await
    }

    pub(crate) async fn first_from(&self, from: u64) -> (u64, Arc<[u8]>) {
        let shard = SHARD;
        let request = Request::First { shard, from };
        answered!(self, request, Answer::First(seq, entry) => (seq, entry))
    }

    pub(crate) async fn trim(&self, from: u64, below: u64) {
        let shard = SHARD;
        answered!(self, Request::Trim { shard, from, below }, Answer::Done => ());
    }

    pub(crate) async fn report(&self, synced: u64) -> bool {
        let request = Request::Report {
            shard: SHARD,
            node: self.name.into(),
            lease: self.lease,
            synced,
        };
        answered!(self, request, Answer::Reported(noted) => noted)
    }

    pub(crate) async fn reports(&self) -> Vec<(NodeName, u64)> {
        answered!(self, Request::Reports(SHARD), Answer::Reports(reports) => reports)
    }

    pub(crate) async fn join(&self) {
        answered!(self, Request::Join(member(self.name)), Answer::Done => ());
    }

    pub(crate) async fn moves(&self, address: &str) {
        let member = Member {
            node: self.name.into(),
            address: address.into(),
        };
        answered!(self, Request::Move(member), Answer::Done => ());
    }

    pub(crate) async fn remove(&self, name: &str) {
        answered!(self, Request::Remove(name.into()), Answer::Done => ());
    }

    pub(crate) async fn members(&self) -> Vec<Membership> {
        answered!(self, Request::Members, Answer::Members(members) => members)
    }
}
