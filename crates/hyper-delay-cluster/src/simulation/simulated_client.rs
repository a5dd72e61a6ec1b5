//! A client of the cluster, and what it has not answered.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{events::ProcessId, task_name::TaskName};
use hyper_delay_engine::scheduler::ConsumerId;

/// A client.
#[derive(Debug, Default)]
pub(super) struct SimulatedClient {
    /// Its connection and the process that it is to.
    pub(super) connection: Option<(ConsumerId, ProcessId)>,
    pub(super) credit: Option<u16>,
    /// The last connection on which a registration has succeeded, and its credit.
    pub(super) registered: Option<(ConsumerId, u16)>,
    /// What it has and has not answered, by id.
    pub(super) in_flight: BTreeMap<Arc<str>, ClientDelivery>,
    /// What it has nacked after its time, with the number of the round.
    pub(super) late_nacks: BTreeSet<(TaskName, u32)>,
}

/// A delivery that a client has not answered.
#[derive(Debug, Clone)]
pub(super) struct ClientDelivery {
    pub(super) route: Arc<str>,
    pub(super) seq: u64,
    pub(super) attempt: u32,
    /// When its leader has sent it, in true nanoseconds.
    pub(super) sent: u64,
    /// The end of its time on the clock of the client's node.
    pub(super) until: u64,
}
