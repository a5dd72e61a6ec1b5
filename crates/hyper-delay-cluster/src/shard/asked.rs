//! Requests of serving nodes, as the scheduler takes them.

use super::Shard;
use crate::forward::wire::{Asked, Look, Looked, Number};
use hyper_delay_engine::scheduler::{Ask, ConsumerId, Input, Operated, ReplyTo};
use hyper_delay_protocol::{Code, Line, Refusal, Request};
use hyper_delay_store::Store;

impl Asked {
    /// Returns whether it makes a task.
    pub(super) const fn is_schedule(&self) -> bool {
        matches!(self, Self::Request(Request::Schedule(_), _))
    }

    /// Returns why it is not carried out.
    pub(super) fn refusal(&self, message: &str) -> Refusal {
        let (route, id) = match self {
            Self::Request(request, _) | Self::Operated(request, _) => request.names(),
            Self::Look(_) => (None, None),
        };
        Refusal {
            route: route.cloned(),
            id: id.cloned(),
            ..Refusal::new(Code::Unavailable, message)
        }
    }

    /// Returns what the scheduler is told.
    ///
    /// # Errors
    ///
    /// If it is a question, which the shard answers.
    pub(super) fn into_input(self, consumer: ConsumerId, number: Number) -> Result<Input, Look> {
        Ok(match self {
            Self::Request(request, grant) => {
                let line = Line {
                    tag: None,
                    token: None,
                    request,
                };
                let ask = Ask {
                    line,
                    weight: number,
                    grant,
                };
                Input::Asked(consumer, vec![ask])
            }
            Self::Operated(request, actor) => Input::Operated(Box::new(Operated {
                request,
                actor,
                reply_to: reply_to(consumer, number),
            })),
            Self::Look(look) => return Err(look),
        })
    }
}

impl<S: Store> Shard<S> {
    /// Returns the answer to a question, if this node leads the shard.
    pub(super) fn look(&self, look: Look) -> Option<Looked> {
        let leading = self.leading.as_ref()?;
        let scheduler = &leading.scheduler;
        Some(match look {
            Look::Applied => Looked::Applied(self.applied()),
            Look::InFlight(seqs) => Looked::InFlight(scheduler.seen_in_flight(&seqs).collect()),
            Look::Future(now) => Looked::Future(Box::new(leading.forecast.read(now))),
            Look::HasConsumers(route) => Looked::HasConsumers(scheduler.has_consumers(&route)),
            Look::Counts(listed) => Looked::Counts(scheduler.counted(&listed)),
        })
    }
}

/// The scheduler returns the weight of a request with its reply, and does not look at it. Here it
/// is the number of the request.
pub(super) const fn reply_to(consumer: ConsumerId, number: Number) -> ReplyTo {
    ReplyTo {
        consumer,
        tag: None,
        weight: number,
    }
}
