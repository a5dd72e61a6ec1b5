//! One connection: a task that reads its lines, and one that writes to it.

mod ask_disk;
mod reader;
mod writer;

use std::{
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::TcpStream,
    sync::watch,
    time::timeout,
};

use crate::{
    config::Config,
    driver::Event,
    outbox::Outbox,
    scheduler::{ConsumerId, Input, OwnRoutes},
    store::Store,
};

/// What all connections share.
pub(crate) struct Shared<S> {
    pub(crate) store: Arc<S>,
    pub(crate) config: Arc<Config>,
    pub(crate) events: Sender<Event>,
    pub(crate) own_routes: Arc<OwnRoutes>,
    /// True once the server is about to end.
    pub(crate) ending: watch::Receiver<bool>,
}

/// Serves a connection until its end. Returns when it has been read to its end and, for all that it asked, an
/// answer has been written, or when it cannot be written to.
pub(crate) async fn serve<S: Store>(shared: Arc<Shared<S>>, id: ConsumerId, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let (mut read, write) = stream.into_split();
    let outbox = Arc::new(Outbox::new(shared.config.connection_write_channel));
    let connected = Event::Connected(id, outbox.clone());
    if shared.events.send(connected).is_err() {
        return;
    }
    let _gone = Gone(&shared.events, id);
    let mut writer = tokio::spawn(writer::run(shared.clone(), id, outbox.clone(), write));
    let (why, written) = tokio::select! {
        why = reader::run(&shared, id, &outbox, &mut read) => (why, false),
        why = &mut writer => (why.unwrap_or("the writer panicked"), true),
    };
    tracing::debug!(connection = id, why, "the connection ends");
    // Answers to what was asked are still to be written, but nothing more is to be delivered.
    let _ = shared.events.send(Event::Input(Input::Closed(id)));
    let written = written
        || tokio::select! {
            () = outbox.answered() => false,
            _ = &mut writer => true,
        };
    outbox.close();
    if !written {
        let _ = writer.await;
        linger(&mut read).await;
    }
}

/// Tells that a connection is gone, also if its task panics.
struct Gone<'a>(&'a Sender<Event>, ConsumerId);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Input(Input::Closed(self.1)));
        let _ = self.0.send(Event::Gone(self.1));
    }
}

/// Reads what still comes, for a moment. To close a socket that has unread bytes is to reset the connection, and
/// that can destroy what the other side has not read yet.
pub(crate) async fn linger(read: &mut (impl AsyncRead + Unpin)) {
    const MOMENT: Duration = Duration::from_secs(1);
    let mut bytes = [0; 4096];
    let to_the_end = async { while matches!(read.read(&mut bytes).await, Ok(1..)) {} };
    let _ = timeout(MOMENT, to_the_end).await;
}
