use crate::response::Header;

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct StatusRequest {}

/// What a member of etcd says about itself.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Status {
    #[prost(message, optional, tag = "1")]
    header: Option<Header>,
    #[prost(string, tag = "2")]
    version: String,
    #[prost(uint64, tag = "4")]
    leader: u64,
}

impl Status {
    /// Whether this member is the leader, as far as it knows.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        let member = self.header.map_or(0, |header| header.member_id);
        member != 0 && member == self.leader
    }

    /// The version of etcd, such as `3.4.23`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }
}
