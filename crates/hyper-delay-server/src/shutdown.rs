use std::time::Duration;

use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::{
    connection::Guests,
    driver::{Event, Events},
};
use hyper_delay_engine::scheduler::Input;
use hyper_delay_store::ReadStore;

/// A connection that does not read its replies delays the shutdown by at most this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// Makes the connections stop reading, waits until they and the guests are answered, and lets the
/// scheduler end once everything is on disk.
pub(super) async fn settle<S: ReadStore>(
    events: &Events,
    ending: &watch::Sender<bool>,
    mut connections: JoinSet<()>,
    guests: &Guests<S>,
) {
    let _ = events.send(Event::Input(Input::Ending));
    let _ = ending.send(true);
    let all = async {
        while connections.join_next().await.is_some() {}
        guests.settle().await;
    };
    let _ = timeout(PATIENCE, all).await;
    let _ = events.send(Event::Drain);
}
