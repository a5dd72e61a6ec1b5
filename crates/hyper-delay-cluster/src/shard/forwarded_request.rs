//! Requests of serving nodes, as the scheduler takes them.

use crate::forward::wire::{ForwardedRequest, LeaderQuery};
use hyper_delay_engine::scheduler::{OperatorRequest, RequestId, RouteRequest, SchedulerInput};
use hyper_delay_protocol::{Code, Refusal};

impl ForwardedRequest {
    /// Returns whether it makes a task.
    pub(super) const fn is_schedule(&self) -> bool {
        matches!(self, Self::Request(RouteRequest::Schedule { .. }))
    }

    /// Returns why it is not carried out.
    pub(super) fn refusal(&self, message: &str) -> Refusal {
        let (route, id) = match self {
            Self::Request(request) => {
                let (route, id) = request.names();
                (Some(route), id)
            }
            Self::Operator(request, _) => request.names(),
            Self::Query(_) => (None, None),
        };
        Refusal {
            route: route.cloned(),
            id: id.cloned(),
            ..Refusal::new(Code::Unavailable, message)
        }
    }

    /// Converts the request to an input of the scheduler.
    ///
    /// # Errors
    ///
    /// If it is a question, which the shard answers.
    pub(super) fn into_input(self, id: RequestId) -> Result<SchedulerInput, LeaderQuery> {
        Ok(match self {
            Self::Request(request) => SchedulerInput::Requested(id, Box::new(request)),
            Self::Operator(request, actor) => {
                SchedulerInput::Operated(id, Box::new(OperatorRequest { request, actor }))
            }
            Self::Query(query) => return Err(query),
        })
    }
}
