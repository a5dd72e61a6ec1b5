//! The requests of clients, as events of the forwarder that they reach.

use std::sync::Arc;

use crate::forward::ForwarderEvent;
use hyper_delay_engine::{
    front::{ClientRequest, FrontInput},
    scheduler::ConsumerId,
};
use hyper_delay_protocol::TaskRequest;

pub(super) fn request_event(consumer: ConsumerId, request: TaskRequest) -> ForwarderEvent {
    requested(consumer, client_request(request))
}

/// The same for an answer to a delivery of this route. Its tag says so, as the reply about no delivery
/// has no route that the answer has not given.
pub(super) fn answer_event(
    consumer: ConsumerId,
    route: &Arc<str>,
    request: TaskRequest,
) -> ForwarderEvent {
    let answer = ClientRequest {
        tag: Some(route.clone()),
        ..client_request(request)
    };
    requested(consumer, answer)
}

pub(super) const fn client_request(request: TaskRequest) -> ClientRequest {
    ClientRequest {
        tag: None,
        request,
        weight: 1,
        grant: None,
    }
}

pub(super) fn requested(consumer: ConsumerId, request: ClientRequest) -> ForwarderEvent {
    ForwarderEvent::Input(FrontInput::Requested(consumer, vec![request]))
}
