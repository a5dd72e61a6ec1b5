//! Requests of serving nodes, as the scheduler takes them.

use crate::{
    cluster::forward::wire::{Asked, Number},
    protocol::Line,
    scheduler::{Ask, ConsumerId, Input, Operated, ReplyTo},
};

impl Asked {
    /// Returns what the scheduler is told.
    pub(super) fn into_input(self, consumer: ConsumerId, number: Number) -> Input {
        match self {
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
        }
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
