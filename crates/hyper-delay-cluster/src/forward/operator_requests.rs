//! Requests of operators.

use super::{
    Forwarder,
    leader_session::{PendingRequest, QueueableRequest},
    wire::ForwardedRequest,
};
use crate::shard_of_seq;
use hyper_delay_engine::{front::ReplyTo, scheduler::OperatorRequest};
use hyper_delay_protocol::AdminRequest;

impl Forwarder {
    /// Passes a request of an operator to the leader of the shard of its route.
    pub(super) fn forward_operator_request(
        &mut self,
        reply_to: ReplyTo,
        operated: OperatorRequest,
    ) {
        let OperatorRequest { request, actor } = operated;
        let consumer = reply_to.consumer;
        let to = PendingRequest::new(reply_to, request.names());
        let shard = match &request {
            // A job is in the shard of its route, like its number.
            AdminRequest::Stop { job } => Some(shard_of_seq(*job)),
            _ => to.route.as_ref().map(|route| self.front.shard_of(route)),
        };
        let shard = shard.filter(|shard| shard.0 < self.shards);
        let forwarded = Box::new(ForwardedRequest::Operator(request, actor));
        self.forward(
            shard.unwrap_or_default(),
            consumer,
            QueueableRequest::Request(forwarded, to),
        );
    }
}
