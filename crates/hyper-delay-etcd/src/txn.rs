use crate::{Compare, Delete, Error, Get, GetResponse, Put, response::Header};

/// A transaction: comparisons, and what is done if all of them hold or if one does not.
///
/// It is carried out at one moment, and writes each key once at most.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Txn {
    #[prost(message, repeated, tag = "1")]
    compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    success: Vec<RequestOp>,
    #[prost(message, repeated, tag = "3")]
    failure: Vec<RequestOp>,
}

/// One operation of a [`Txn`].
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum Op {
    /// A read.
    #[prost(message, tag = "1")]
    Get(Get),
    /// A write.
    #[prost(message, tag = "2")]
    Put(Put),
    /// A deletion.
    #[prost(message, tag = "3")]
    Delete(Delete),
}

impl From<Get> for Op {
    fn from(get: Get) -> Self {
        Self::Get(get)
    }
}

impl From<Put> for Op {
    fn from(put: Put) -> Self {
        Self::Put(put)
    }
}

impl From<Delete> for Op {
    fn from(delete: Delete) -> Self {
        Self::Delete(delete)
    }
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct RequestOp {
    #[prost(oneof = "Op", tags = "1, 2, 3")]
    op: Option<Op>,
}

impl RequestOp {
    fn new(op: impl Into<Op>) -> Self {
        let op = Some(op.into());
        Self { op }
    }
}

impl Txn {
    /// A transaction without comparisons, which does what [`then`](Self::then) adds.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a comparison.
    #[must_use]
    pub fn when(mut self, compare: Compare) -> Self {
        self.compare.push(compare);
        self
    }

    /// Adds comparisons.
    #[must_use]
    pub fn when_all(mut self, compares: impl IntoIterator<Item = Compare>) -> Self {
        self.compare.extend(compares);
        self
    }

    /// Adds an operation for the case that all comparisons hold.
    #[must_use]
    pub fn then(mut self, op: impl Into<Op>) -> Self {
        self.success.push(RequestOp::new(op));
        self
    }

    /// Adds operations for the case that all comparisons hold.
    #[must_use]
    pub fn then_all(mut self, ops: impl IntoIterator<Item = impl Into<Op>>) -> Self {
        self.success.extend(ops.into_iter().map(RequestOp::new));
        self
    }

    /// Adds an operation for the case that a comparison does not hold.
    #[must_use]
    pub fn or_else(mut self, op: impl Into<Op>) -> Self {
        self.failure.push(RequestOp::new(op));
        self
    }
}

/// The answer to a [`Txn`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxnResponse {
    succeeded: bool,
    revision: u64,
    reads: Vec<GetResponse>,
}

impl TxnResponse {
    /// Whether all comparisons held.
    #[must_use]
    pub const fn succeeded(&self) -> bool {
        self.succeeded
    }

    /// The revision of the transaction: the one that it made, if it wrote something.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// The results of the reads, in their order.
    #[must_use]
    pub fn into_reads(self) -> Vec<GetResponse> {
        self.reads
    }
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct TxnReply {
    #[prost(message, optional, tag = "1")]
    header: Option<Header>,
    #[prost(bool, tag = "2")]
    succeeded: bool,
    #[prost(message, repeated, tag = "3")]
    responses: Vec<ResponseOp>,
}

/// The result of one operation, if it is a read: those of others are fields that are skipped.
#[derive(Clone, PartialEq, Eq, prost::Message)]
struct ResponseOp {
    #[prost(message, optional, tag = "1")]
    range: Option<GetResponse>,
}

impl TryFrom<TxnReply> for TxnResponse {
    type Error = Error;

    fn try_from(reply: TxnReply) -> Result<Self, Error> {
        let header = reply.header.ok_or(Error::Incomplete("a header"))?;
        let responses = reply.responses.into_iter();
        Ok(Self {
            succeeded: reply.succeeded,
            revision: header.revision,
            reads: responses.filter_map(|response| response.range).collect(),
        })
    }
}
