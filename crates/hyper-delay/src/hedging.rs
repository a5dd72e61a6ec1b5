//! A hedged round is a race: each copy of a task is an attempt, the first ack wins.

use std::{sync::mpsc::Sender, time::Duration};

use race_core::Verdict;
use race_tokio::Race;
use tokio::sync::oneshot;

use crate::{
    driver::Event,
    scheduler::{Fate, Input, Round},
};

/// Runs the race of a round: a copy every `delay`, or at once when the latest has failed, until one is
/// acknowledged, or all have failed and there is nobody left to send one to.
pub(crate) async fn run(round: Round, delay: Duration, events: Sender<Event>) {
    let copy = |place: &usize| {
        let (fate, told) = oneshot::channel();
        let place = *place;
        let asked = events.send(Event::Copy(Round { place, ..round }, fate));
        async move {
            match (asked, told.await) {
                (Ok(()), Ok(Fate::Failed)) => Err(Fate::Failed),
                (Ok(()), Ok(Fate::Nobody)) => Err(Fate::Nobody),
                // Over, or the server is.
                _ => Ok(()),
            }
        }
    };
    let race = Race::new(delay, copy, 0..).first_ok_by(|fate: &Fate| match fate {
        Fate::Nobody => Verdict::NoMoreStarts,
        Fate::Failed | Fate::Over => Verdict::Retryable,
    });
    if race.await.is_err() {
        // The server may be over, too: then nobody minds.
        let _ = events.send(Event::Input(Input::Lost(round)));
    }
}
