//! Requests of serving nodes, as the scheduler takes them.

use super::Shard;
use crate::forward::wire::{ForwardedRequest, LeaderQuery, LeaderQueryAnswer, RequestNumber};
use hyper_delay_engine::scheduler::{
    ClientRequest, ConsumerId, OperatorRequest, ReplyTo, SchedulerInput,
};
use hyper_delay_protocol::{Code, Refusal, TaskRequest};
use hyper_delay_store::Store;

impl ForwardedRequest {
    /// Returns whether it makes a task.
    pub(super) const fn is_schedule(&self) -> bool {
        matches!(self, Self::Request(TaskRequest::Schedule(_), _))
    }

    /// Returns why it is not carried out.
    pub(super) fn refusal(&self, message: &str) -> Refusal {
        let (route, id) = match self {
            Self::Request(request, _) => request.names(),
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
    pub(super) fn into_input(
        self,
        consumer: ConsumerId,
        number: RequestNumber,
    ) -> Result<SchedulerInput, LeaderQuery> {
        Ok(match self {
            Self::Request(request, grant) => {
                let ask = ClientRequest {
                    tag: None,
                    request,
                    weight: number,
                    grant,
                };
                SchedulerInput::Requested(consumer, vec![ask])
            }
            Self::Operator(request, actor) => {
                SchedulerInput::OperatorRequested(Box::new(OperatorRequest {
                    request,
                    actor,
                    reply_to: reply_to(consumer, number),
                }))
            }
            Self::Query(query) => return Err(query),
        })
    }
}

impl<S: Store> Shard<S> {
    /// Returns the answer to a question, if this node leads the shard.
    pub(super) fn answer_query(&self, query: LeaderQuery) -> Option<LeaderQueryAnswer> {
        let leading = self.leading.as_ref()?;
        let scheduler = &leading.scheduler;
        Some(match query {
            LeaderQuery::Applied => LeaderQueryAnswer::Applied(self.applied()),
            LeaderQuery::InFlight(seqs) => {
                LeaderQueryAnswer::InFlight(scheduler.in_flight_attempts(&seqs).collect())
            }
            LeaderQuery::Future(now) => {
                LeaderQueryAnswer::Future(Box::new(leading.forecast.read(now)))
            }
            LeaderQuery::HasConsumers(route) => {
                LeaderQueryAnswer::HasConsumers(scheduler.has_consumers(&route))
            }
            LeaderQuery::Counts(selection) => {
                LeaderQueryAnswer::Counts(scheduler.stats_from_memory(&selection))
            }
        })
    }
}

/// The scheduler returns the weight of a request with its reply, and does not use it. Here it
/// is the number of the request.
pub(super) const fn reply_to(consumer: ConsumerId, number: RequestNumber) -> ReplyTo {
    ReplyTo {
        consumer,
        tag: None,
        weight: number,
    }
}
