use std::{io, time::Duration};

use race_core::{Failure, RaceError};

use crate::{
    ConnectError,
    plan::Plan,
    v3::{Peer, Refused},
};

/// Why there is no winner. The errors of the attempts are kept elsewhere, since a race that is
/// refused is dropped with those that it has.
pub(crate) enum Lost<A> {
    Refused(Refused),
    Race(RaceError<A, io::ErrorKind>),
}

impl<A> Lost<A> {
    /// `failed` are the attempts that ended with an error, in the order in which they did.
    pub(crate) fn into_error<P: Plan<Candidate = A>>(
        self,
        deadline: Option<Duration>,
        mut failed: Vec<(Peer, io::Error)>,
        plan: &mut P,
    ) -> ConnectError {
        let resolver = plan.take_errors();
        let error = match self {
            Self::Refused(refused) => {
                let unanswered = plan.attempts().take_running();
                return ConnectError::refused(refused, failed, unanswered, resolver);
            }
            Self::Race(error) => error,
        };
        let deadline = deadline.filter(|_| matches!(error, RaceError::Deadline { .. }));
        // Timeouts are known to the race only.
        let all = error.into_failed().into_iter().map(|it| {
            let peer = P::peer(&it.arg);
            let place = failed.iter().position(|(failed, _)| *failed == peer);
            match (it.failure, place) {
                (Failure::Error(_), Some(place)) => failed.remove(place),
                (other, _) => {
                    let text = other.to_string();
                    (peer, io::Error::new(io::ErrorKind::TimedOut, text))
                }
            }
        });
        let failed: Vec<_> = all.collect();
        let Some(deadline) = deadline else {
            return ConnectError::all_failed(failed, resolver);
        };
        // Attempts that timed out have failed.
        let mut unanswered = plan.attempts().take_running();
        unanswered.retain(|peer| failed.iter().all(|(it, _)| it != peer));
        ConnectError::deadline(deadline, failed, unanswered, resolver)
    }
}
