//! How a connection ends while a delivery is being written.

use std::sync::mpsc::{self, Receiver};

use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpSocket},
    time::{Instant, sleep},
};

use super::*;
use crate::{
    descriptors::Descriptors,
    protocol::Compression,
    record::{self, Task},
    scheduler::Message,
    store::{Batch, Durability, Space, fake::Fake},
};

const PATIENCE: Duration = Duration::from_secs(20);

/// More than the buffers of two sockets take.
const PAYLOAD: usize = 16 << 20;

const SEQ: u64 = 7;

fn store() -> Arc<Fake> {
    let store = Fake::default();
    let payload = vec![0; PAYLOAD];
    let task = Task {
        fire_at: 0,
        compression: Compression::None,
        payload: &payload,
    };
    let mut batch = Batch::new();
    let key = record::key::task(SEQ);
    batch.put(Space::Tasks, key, record::encode(&task));
    store.commit(batch, Durability::Written).unwrap();
    Arc::new(store)
}

/// Returns whether the scheduler is told within `patience` that the connection is closed.
async fn is_closed(inbox: &Receiver<Event>, patience: Duration) -> bool {
    let end = Instant::now() + patience;
    loop {
        match inbox.try_recv() {
            Ok(Event::Input(Input::Closed(_))) => return true,
            Ok(_) => {}
            Err(_) if Instant::now() >= end => return false,
            Err(_) => sleep(Duration::from_millis(1)).await,
        }
    }
}

async fn outbox_of(inbox: &Receiver<Event>) -> Arc<Outbox> {
    loop {
        match inbox.try_recv() {
            Ok(Event::Connected(_, outbox)) => return outbox,
            Ok(other) => panic!("{other:?} before the connection"),
            Err(_) => sleep(Duration::from_millis(1)).await,
        }
    }
}

#[tokio::test]
async fn a_connection_is_closed_once_no_copy_is_being_written() {
    let config = Arc::new(Config::default());
    let (events, inbox) = mpsc::channel();
    let (_end, ending) = watch::channel(false);
    let shared = Arc::new(Shared {
        store: store(),
        unfinished: Arc::new(Unfinished::new(config.max_unfinished_bytes)),
        config: config.clone(),
        events,
        own_routes: Arc::default(),
        ending,
        logs: Arc::default(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let client = socket.connect(listener.local_addr().unwrap());
    let (client, accepted) = tokio::join!(client, listener.accept());
    let (mut client, (stream, address)) = (client.unwrap(), accepted.unwrap());
    let slots = Slots::new(&config, Descriptors::of(100_000));
    let slot = slots.take(address.ip()).unwrap();
    let connection = tokio::spawn(serve(shared, 1, stream, slot));

    let outbox = timeout(PATIENCE, outbox_of(&inbox)).await.unwrap();
    outbox.push(Message::Deliver {
        seq: SEQ,
        route: "route".into(),
        id: "task".into(),
        attempt: 1,
    });
    outbox.wake();
    let mut line = vec![0; 1];
    client.read_exact(&mut line).await.unwrap();
    client.shutdown().await.unwrap();
    assert!(
        !is_closed(&inbox, Duration::from_millis(300)).await,
        "the rest of the copy is still to be written"
    );
    let rest = timeout(PATIENCE, client.read_to_end(&mut line));
    let (read, is_closed) = tokio::join!(rest, is_closed(&inbox, PATIENCE));
    read.unwrap().unwrap();
    assert!(is_closed && line.len() > PAYLOAD && line.ends_with(b"}\n"));
    timeout(PATIENCE, connection).await.unwrap().unwrap();
}
