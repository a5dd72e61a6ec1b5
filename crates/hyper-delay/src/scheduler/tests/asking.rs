use super::super::{Ask, ConsumerId, Input, Operated, ReplyTo};
use crate::{
    ledger::Actor,
    protocol::{Line, Request},
};

/// Returns a request as the connection of a consumer sends it.
pub(super) fn as_input(consumer: ConsumerId, request: Request) -> Input {
    match request {
        Request::Kick { .. }
        | Request::Delete { .. }
        | Request::Bulk(_)
        | Request::Pause { .. }
        | Request::Resume { .. }
        | Request::Stop { .. } => Input::Operated(Box::new(Operated {
            request,
            actor: Actor::default(),
            reply_to: ReplyTo {
                consumer,
                tag: None,
                weight: 1,
            },
        })),
        request => {
            let line = Line {
                tag: None,
                token: None,
                request,
            };
            let ask = Ask {
                line,
                weight: 1,
                grant: None,
            };
            Input::Asked(consumer, vec![ask])
        }
    }
}
