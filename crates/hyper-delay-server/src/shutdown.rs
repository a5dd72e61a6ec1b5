use std::time::Duration;

use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::{
    connection::OneShotClient,
    driver::{EventSender, ServerEvent},
};
use hyper_delay_engine::front::FrontInput;
use hyper_delay_store::ReadStore;

/// A connection that does not read its replies delays the shutdown by at most this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// Makes the connections stop reading, waits until they and the one-shot requests are answered, and
/// lets the scheduler end once everything is on disk.
pub(super) async fn drain_connections<S: ReadStore>(
    events: &EventSender,
    ending: &watch::Sender<bool>,
    mut connections: JoinSet<()>,
    one_shots: &OneShotClient<S>,
) {
    let _ = events.send(ServerEvent::Input(FrontInput::ShuttingDown));
    let _ = ending.send(true);
    let all = async {
        while connections.join_next().await.is_some() {}
        one_shots.drain().await;
    };
    let _ = timeout(PATIENCE, all).await;
    let _ = events.send(ServerEvent::Drain);
}
