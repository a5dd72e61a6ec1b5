use std::sync::Arc;

use hyper_delay_protocol::{DeliverySelector, Reply};

/// What a client gave to name a delivery, beside the id. A reply about no delivery has these names, and
/// no others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenNames {
    /// The route of the task.
    pub route: Option<Arc<str>>,
    /// The number of the round.
    pub attempt: Option<u32>,
}

impl GivenNames {
    /// Splits what names a delivery into the id and the rest.
    #[must_use]
    pub fn split(named: DeliverySelector) -> (Arc<str>, Self) {
        let DeliverySelector { id, route, attempt } = named;
        (id, Self { route, attempt })
    }

    /// Returns the reply to an ack of this id that finds no delivery.
    #[must_use]
    pub fn acked(self, id: Arc<str>) -> Reply {
        Reply::Acked {
            id,
            route: self.route,
            removed: false,
        }
    }

    /// Returns the reply to a touch of this id that finds no delivery.
    #[must_use]
    pub fn touched(self, id: Arc<str>) -> Reply {
        Reply::Touched {
            id,
            route: self.route,
            attempt: self.attempt,
            deadline: None,
        }
    }

    /// The scheduler has answered an ack or a touch, which had a full name. A reply about no delivery
    /// gets the names that the client gave.
    pub fn restore(self, reply: &mut Reply) {
        match reply {
            Reply::Acked {
                route,
                removed: false,
                ..
            } => *route = self.route,
            Reply::Touched {
                route,
                attempt,
                deadline: None,
                ..
            } => (*route, *attempt) = (self.route, self.attempt),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given() -> (Arc<str>, GivenNames) {
        GivenNames::split(DeliverySelector {
            id: "a".into(),
            route: None,
            attempt: Some(3),
        })
    }

    fn acked(route: Option<&str>, removed: bool) -> Reply {
        Reply::Acked {
            id: "a".into(),
            route: route.map(Into::into),
            removed,
        }
    }

    fn touched(route: Option<&str>, attempt: u32, deadline: Option<u64>) -> Reply {
        Reply::Touched {
            id: "a".into(),
            route: route.map(Into::into),
            attempt: Some(attempt),
            deadline,
        }
    }

    fn restored(mut reply: Reply) -> Reply {
        given().1.restore(&mut reply);
        reply
    }

    #[test]
    fn a_reply_about_no_delivery_has_the_names_that_were_given() {
        let (id, names) = given();
        assert_eq!(names.clone().acked(id.clone()), acked(None, false));
        assert_eq!(names.touched(id), touched(None, 3, None));
        assert_eq!(restored(acked(Some("r"), false)), acked(None, false));
        assert_eq!(
            restored(touched(Some("r"), 4, None)),
            touched(None, 3, None)
        );
    }

    #[test]
    fn a_reply_about_a_delivery_has_its_full_name() {
        assert_eq!(restored(acked(Some("r"), true)), acked(Some("r"), true));
        let extended = touched(Some("r"), 4, Some(9));
        assert_eq!(restored(extended.clone()), extended);
        assert_eq!(restored(Reply::Pong), Reply::Pong);
    }
}
