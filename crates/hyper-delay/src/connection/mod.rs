//! One connection: a task that reads its lines, and one that writes to it.

mod ask_disk;
mod reader;
mod writer;

use std::sync::{Arc, mpsc::Sender};

use tokio::{net::TcpStream, sync::watch};

use crate::{
    config::Config,
    driver::Event,
    outbox::Outbox,
    scheduler::{ConsumerId, Input},
    store::Store,
};

/// What all connections share.
pub(crate) struct Shared<S> {
    pub(crate) store: Arc<S>,
    pub(crate) config: Arc<Config>,
    pub(crate) events: Sender<Event>,
    /// True once the server is about to end.
    pub(crate) ending: watch::Receiver<bool>,
}

/// Serves a connection until its end. Returns when it has been read to its end and, for all that it asked, an
/// answer has been written, or when it cannot be written to.
pub(crate) async fn serve<S: Store>(shared: Arc<Shared<S>>, id: ConsumerId, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let (read, write) = stream.into_split();
    let outbox = Arc::new(Outbox::new(shared.config.connection_write_channel));
    let connected = Event::Connected(id, outbox.clone());
    if shared.events.send(connected).is_err() {
        return;
    }
    let mut writer = tokio::spawn(writer::run(shared.clone(), id, outbox.clone(), write));
    let why = tokio::select! {
        why = reader::run(&shared, id, &outbox, read) => why,
        why = &mut writer => why.unwrap_or("the writer panicked"),
    };
    tracing::debug!(connection = id, why, "the connection ends");
    // Two events: answers to what was asked are still to be written, but nothing more is to be delivered.
    let _ = shared.events.send(Event::Input(Input::Closed(id)));
    if !writer.is_finished() {
        tokio::select! {
            () = outbox.answered() => {}
            _ = &mut writer => {}
        }
        outbox.close();
        let _ = writer.await;
    }
    let _ = shared.events.send(Event::Gone(id));
}
