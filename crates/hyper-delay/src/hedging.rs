//! A hedged round is a race: each copy of a task is an attempt, and the first ack wins.

use std::{sync::mpsc::Sender, time::Duration};

use race_core::Verdict;
use race_tokio::Race;
use tokio::sync::oneshot;

use crate::{
    driver::Event,
    scheduler::{Fate, Input, Round},
};

/// Runs the race of a round. It sends a copy every `delay`, and right after the latest copy failed. It
/// ends when a copy is acknowledged, or when all copies failed and no consumer is left.
pub(crate) async fn run(round: Round, delay: Duration, events: Sender<Event>) {
    let copy = |place: &usize| {
        let (fate, receiver) = oneshot::channel();
        let place = *place;
        let sent = events.send(Event::Copy(Round { place, ..round }, fate));
        async move {
            match (sent, receiver.await) {
                (Ok(()), Ok(Fate::Failed)) => Err(Fate::Failed),
                (Ok(()), Ok(Fate::Nobody)) => Err(Fate::Nobody),
                // The round is over, or the server stopped.
                _ => Ok(()),
            }
        }
    };
    let race = Race::new(delay, copy, 0..).first_ok_by(|fate: &Fate| match fate {
        Fate::Nobody => Verdict::NoMoreStarts,
        Fate::Failed | Fate::Over => Verdict::Retryable,
    });
    if race.await.is_err() {
        // The receiver is gone if the server stopped.
        let _ = events.send(Event::Input(Input::Lost(round)));
    }
}
