use std::{sync::mpsc::Sender, time::Duration};

use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::{driver::Event, scheduler::Input};

/// A connection that does not read its replies delays the shutdown by at most this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// Makes the connections stop reading, waits until they are answered, and lets the scheduler end
/// once everything is on disk.
pub(super) async fn settle(
    events: &Sender<Event>,
    ending: &watch::Sender<bool>,
    mut connections: JoinSet<()>,
) {
    let _ = events.send(Event::Input(Input::Ending));
    let _ = ending.send(true);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(PATIENCE, all).await;
    let _ = events.send(Event::Drain);
}
