//! A node that asks the log, for tests.

use std::{sync::Arc, time::Duration};

use crate::{
    Charter, ShardId,
    log::{
        AnnounceOutcome, AppendOutcome, Fence, Heartbeat, JournalTail, Leader, LeaderAndHeartbeat,
        LeaseId, Log, LogAnswer, LogRequest, Member, Membership, MissingLink, NodeName, Takeover,
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
pub(crate) struct LogClient<'a, L> {
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

impl<'a, L: Log> LogClient<'a, L> {
    /// A node with a lease of its own that has not begun, in a cluster that is made if there is
    /// none.
    pub(crate) async fn new(log: &'a L, name: &'static str) -> Self {
        let lease = LeaseId(fastrand::u64(..));
        let node = Self { log, name, lease };
        node.create_cluster(CHARTER).await;
        node
    }

    /// A node whose lease has begun.
    pub(crate) async fn announced(log: &'a L, name: &'static str) -> Self {
        let node = Self::new(log, name).await;
        assert_eq!(node.announce(0).await, AnnounceOutcome::Done);
        node
    }

    pub(crate) async fn ask(&self, request: LogRequest) -> LogAnswer {
        self.log.call(request).await.unwrap()
    }

    pub(crate) async fn create_cluster(&self, charter: Charter) -> Charter {
        answered!(self, LogRequest::CreateCluster(charter), LogAnswer::ClusterCreated(charter) => charter)
    }

    pub(crate) async fn announce(&self, takeover: u64) -> AnnounceOutcome {
        let request = LogRequest::Announce {
            member: member(self.name),
            lease: self.lease,
            ttl: TTL,
            replaces: takeover,
        };
        answered!(self, request, LogAnswer::Announced(announced) => announced)
    }

    pub(crate) async fn keep_alive(&self) -> bool {
        self.keep_alive_without([].into()).await
    }

    /// Sends a heartbeat that reports missing links.
    pub(crate) async fn keep_alive_without(&self, missing_links: Arc<[MissingLink]>) -> bool {
        let request = LogRequest::KeepAlive {
            member: member(self.name),
            lease: self.lease,
            ttl: TTL,
            missing_links,
        };
        answered!(self, request, LogAnswer::Alive(is_alive) => is_alive)
    }

    pub(crate) async fn leave(&self) {
        let request = LogRequest::Leave {
            node: self.name.into(),
            lease: self.lease,
        };
        answered!(self, request, LogAnswer::Done => ());
    }

    /// Returns the heartbeat of a member.
    pub(crate) async fn heartbeat_of(&self, name: &str) -> Option<Heartbeat> {
        self.ask(LogRequest::Join(member(name))).await;
        let mut members = self.members().await.into_iter();
        let member = members.find(|it| &*it.member.node == name);
        member.expect("it has joined").heartbeat
    }

    pub(crate) async fn lead(&self) -> Option<Leader> {
        self.take_over(None).await.map(|led| led.leader)
    }

    pub(crate) async fn take_over(&self, takeover: Option<Takeover>) -> Option<LeaderAndHeartbeat> {
        let request = LogRequest::Lead {
            shard: SHARD,
            lease: self.lease,
            member: member(self.name),
            takeover,
        };
        answered!(self, request, LogAnswer::Leader(led) => led)
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
        answered!(self, LogRequest::Resign(fence), LogAnswer::Done => ());
    }

    pub(crate) async fn append(&self, fence: Fence, seq: u64, entry: &Arc<[u8]>) -> AppendOutcome {
        let entry = entry.clone();
        let request = LogRequest::Append { fence, seq, entry };
        answered!(self, request, LogAnswer::Appended(appended) => appended)
    }

    pub(crate) async fn tail(&self, from: u64) -> JournalTail {
        let request = LogRequest::Tail {
            shard: SHARD,
            from,
            node: self.name.into(),
        };
        answered!(self, request, LogAnswer::Tail(tail) => tail)
    }

    pub(crate) async fn first(&self) -> (u64, Arc<[u8]>) {
        self.first_from(0).await
    }

    pub(crate) async fn first_from(&self, from: u64) -> (u64, Arc<[u8]>) {
        let shard = SHARD;
        let request = LogRequest::First { shard, from };
        answered!(self, request, LogAnswer::First(seq, entry) => (seq, entry))
    }

    pub(crate) async fn trim(&self, from: u64, below: u64) {
        let shard = SHARD;
        answered!(self, LogRequest::Trim { shard, from, below }, LogAnswer::Done => ());
    }

    pub(crate) async fn report(&self, synced: u64) -> bool {
        let request = LogRequest::Report {
            shard: SHARD,
            node: self.name.into(),
            lease: self.lease,
            synced,
        };
        answered!(self, request, LogAnswer::Reported(noted) => noted)
    }

    pub(crate) async fn reports(&self) -> Vec<(NodeName, u64)> {
        answered!(self, LogRequest::Reports(SHARD), LogAnswer::Reports(reports) => reports)
    }

    pub(crate) async fn join(&self) {
        answered!(self, LogRequest::Join(member(self.name)), LogAnswer::Done => ());
    }

    pub(crate) async fn change_address(&self, address: &str) {
        let member = Member {
            node: self.name.into(),
            address: address.into(),
        };
        answered!(self, LogRequest::ChangeAddress(member), LogAnswer::Done => ());
    }

    pub(crate) async fn remove(&self, name: &str) {
        answered!(self, LogRequest::Remove(name.into()), LogAnswer::Done => ());
    }

    pub(crate) async fn members(&self) -> Vec<Membership> {
        answered!(self, LogRequest::Members, LogAnswer::Members(members) => members)
    }
}
