//! What operators ask for.

use super::{
    Forwarder,
    session::{Pending, Queueable, What},
    wire::Asked,
};
use crate::shard_of_seq;
use hyper_delay_engine::scheduler::Operated;
use hyper_delay_protocol::Request;

impl Forwarder {
    /// Passes a request of an operator to the leader of the shard of its route.
    pub(super) fn operated(&mut self, operated: Operated) {
        let Operated {
            request,
            actor,
            reply_to,
        } = operated;
        let (route, id) = request.names();
        let to = Pending {
            consumer: reply_to.consumer,
            tag: reply_to.tag,
            weight: reply_to.weight,
            route: route.cloned(),
            id: id.cloned(),
            what: What::Other,
        };
        let shard = match &request {
            // A job is in the shard of its route, like its number.
            Request::Stop { job } => Some(shard_of_seq(*job)),
            _ => to.route.as_ref().map(|route| self.shard_of(route)),
        };
        let shard = shard.filter(|shard| shard.0 < self.setup.shards);
        let asked = Box::new(Asked::Operated(request, actor));
        self.forward(
            shard.unwrap_or_default(),
            to.consumer,
            Queueable::Request(asked, to),
        );
    }
}
