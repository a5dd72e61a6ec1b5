//! What a connection writes while it ends, and when the store panics.

mod deadline;

use std::sync::mpsc::{self, Receiver};

use race_wheel::Tick;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpSocket, TcpStream},
    time::sleep,
};

use super::*;
use crate::replica_events::{ReplicaEvent, ReplicaEventSender};
use hyper_delay_engine::{
    authority::Authority, clock::nanos, front::ConsumerMessage, scheduler::UnsentReason,
};
use hyper_delay_fjall::file_descriptors::Descriptors;
use hyper_delay_protocol::{Accept, Compression, Reply};
use hyper_delay_store::{
    Batch, Bytes, Durability, Snapshot, Space, Store as _, StoreError, Visit,
    fake::Fake,
    record::{self, Task},
};

const PATIENCE: Duration = Duration::from_secs(20);

/// More than the buffers of two sockets take.
const PAYLOAD: usize = 16 << 20;

const SEQ: u64 = 7;

fn store(payload: usize) -> Fake {
    let store = Fake::default();
    let payload = vec![0; payload];
    let task = Task {
        fire_at: 0,
        compression: Compression::None,
        payload: &payload,
        terms: None,
        headers: "",
        delay_ms: None,
    };
    let mut batch = Batch::new();
    let key = record::key::task(SEQ);
    batch.put(Space::Tasks, key, record::encode(&task));
    store.commit(batch, Durability::Written).unwrap();
    store
}

/// A store whose reads of one key panic.
struct Panics {
    store: Fake,
    at: [u8; 8],
}

impl ReadStore for Panics {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        assert_ne!(key, self.at, "a damaged block");
        self.store.get(space, key)
    }

    fn scan(&self, _: Space, _: &[u8], _: &mut Visit<'_>) -> Result<(), StoreError> {
        unreachable!("nothing is listed")
    }

    fn snapshot(&self) -> Result<Snapshot, StoreError> {
        unreachable!("nothing is backed up")
    }
}

fn deliver(outbox: &ConnectionOutbox, seq: u64) {
    deliver_until(outbox, seq, Tick::new(u64::MAX));
}

fn deliver_until(outbox: &ConnectionOutbox, seq: u64, until: Tick) {
    outbox.push(ConsumerMessage::Deliver {
        due: 0,
        seq,
        route: "route".into(),
        id: "task".into(),
        attempt: 1,
        until,
        write_by: until,
        accept: Accept::default(),
        authority: None,
    });
}

struct World {
    client: TcpStream,
    connection: JoinHandle<()>,
    inbox: Receiver<ServerEvent>,
    outbox: Arc<ConnectionOutbox>,
    /// The server shuts down when it is dropped.
    _end: watch::Sender<bool>,
}

/// Serves one connection whose client has a small buffer.
async fn connect<S: ReadStore>(store: S) -> World {
    connect_with(store, None, Freshness::default()).await
}

/// Like [`connect`], with these tokens in force.
async fn connect_with<S: ReadStore>(
    store: S,
    tokens: Option<Tokens>,
    freshness: Freshness,
) -> World {
    let config = Arc::new(Config::default());
    let (events, inbox) = mpsc::channel();
    let (end, ending) = watch::channel(false);
    let shared = Arc::new(ConnectionContext {
        store: Arc::new(store),
        unfinished: Arc::new(UnfinishedLines::new(config.max_unfinished_bytes)),
        config: config.clone(),
        tls: None,
        tokens: watch::channel(tokens).1,
        failures: Arc::default(),
        events: events.into(),
        clock: Clock::new(),
        freshness,
        ending,
        logs: Arc::default(),
        backups: Arc::new(Semaphore::new(1)),
        metrics: Arc::default(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let client = socket.connect(listener.local_addr().unwrap());
    let (client, accepted) = tokio::join!(client, listener.accept());
    let (stream, address) = accepted.unwrap();
    let slots = Slots::new(&config, Descriptors::of(100_000));
    let slot = slots.take(address.ip(), false).unwrap();
    let connection = tokio::spawn(serve(shared, 1, stream, slot));
    let ServerEvent::Connected(_, outbox) = timeout(PATIENCE, event(&inbox)).await.unwrap() else {
        panic!("something came before the connection");
    };
    World {
        client: client.unwrap(),
        connection,
        inbox,
        outbox,
        _end: end,
    }
}

async fn event(inbox: &Receiver<ServerEvent>) -> ServerEvent {
    loop {
        match inbox.try_recv() {
            Ok(event) => return event,
            Err(_) => sleep(Duration::from_millis(1)).await,
        }
    }
}

/// Returns whether the scheduler is told within `patience` that the connection is closed.
async fn is_closed(inbox: &Receiver<ServerEvent>, patience: Duration) -> bool {
    let closed = async {
        while !matches!(
            event(inbox).await,
            ServerEvent::Input(FrontInput::Closed(_))
        ) {}
    };
    timeout(patience, closed).await.is_ok()
}

#[tokio::test]
async fn a_connection_is_closed_once_no_copy_is_being_written() {
    let mut world = connect(store(PAYLOAD)).await;
    deliver(&world.outbox, SEQ);
    world.outbox.wake();
    let mut line = vec![0; 1];
    world.client.read_exact(&mut line).await.unwrap();
    world.client.shutdown().await.unwrap();
    assert!(
        !is_closed(&world.inbox, Duration::from_millis(300)).await,
        "the rest of the copy is still to be written"
    );
    let rest = timeout(PATIENCE, world.client.read_to_end(&mut line));
    let (read, is_closed) = tokio::join!(rest, is_closed(&world.inbox, PATIENCE));
    read.unwrap().unwrap();
    assert!(is_closed && line.len() > PAYLOAD && line.ends_with(b"}\n"));
    timeout(PATIENCE, world.connection).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_read_that_panics_makes_its_task_unreadable_and_delivers_the_next() {
    const DAMAGED: u64 = 3;
    let store = Panics {
        store: store(5),
        at: record::key::task(DAMAGED),
    };
    let mut world = connect(store).await;
    deliver(&world.outbox, DAMAGED);
    deliver(&world.outbox, SEQ);
    world.outbox.wake();
    let event = timeout(PATIENCE, event(&world.inbox)).await.unwrap();
    let ServerEvent::Input(FrontInput::NotSent(copy, UnsentReason::Undeliverable(reason))) = event
    else {
        panic!("{event:?} is no damage");
    };
    assert_eq!((copy.consumer, copy.seq), (1, DAMAGED));
    assert!(reason.contains("panicked"), "{reason}");
    let mut line = String::new();
    let mut client = BufReader::new(&mut world.client);
    let read = client.read_line(&mut line);
    timeout(PATIENCE, read).await.unwrap().unwrap();
    let delivery = r#"{"kind":"delivery","id":"task""#;
    assert!(line.starts_with(delivery), "{line}");
}

#[tokio::test]
async fn what_this_node_cannot_read_goes_back_to_the_leader_of_the_shard() {
    const DAMAGED: u64 = 3;
    let store = Panics {
        store: store(5),
        at: record::key::task(DAMAGED),
    };
    let (events, damage) = mpsc::channel();
    let replicas = ReplicaEventSender::new(events, |event| event);
    let world = connect_with(store, None, Freshness::of_replicas(replicas)).await;
    let authority = Arc::new(Authority::new(0, Tick::new(u64::MAX)));
    world.outbox.push(ConsumerMessage::Deliver {
        due: 0,
        seq: DAMAGED,
        route: "route".into(),
        id: "task".into(),
        attempt: 2,
        until: Tick::new(u64::MAX),
        write_by: Tick::new(u64::MAX),
        accept: Accept::default(),
        authority: Some(authority),
    });
    world.outbox.wake();
    let next = timeout(PATIENCE, event(&world.inbox)).await.unwrap();
    let ServerEvent::Input(FrontInput::Revoked { copy, attempt, .. }) = next else {
        panic!("{next:?} does not give it back");
    };
    assert_eq!((copy.seq, attempt), (DAMAGED, 2));
    // The report of the damage was sent before.
    let reported = damage.try_recv().unwrap();
    assert!(
        matches!(reported, ReplicaEvent::Damaged(DAMAGED, _)),
        "{reported:?}"
    );
}

#[tokio::test]
async fn a_copy_whose_time_to_answer_has_passed_is_not_written() {
    let mut world = connect(store(5)).await;
    deliver_until(&world.outbox, SEQ, Tick::ZERO);
    let (reply, tag, weight) = (Reply::Pong, None, 0);
    world
        .outbox
        .push(ConsumerMessage::Reply { reply, tag, weight });
    world.outbox.wake();
    let mut line = String::new();
    let mut client = BufReader::new(&mut world.client);
    let read = client.read_line(&mut line);
    timeout(PATIENCE, read).await.unwrap().unwrap();
    assert_eq!(line, "{\"kind\":\"pong\"}\n");
    let event = world.inbox.try_recv();
    let Ok(ServerEvent::Input(FrontInput::NotSent(copy, UnsentReason::TooLate { attempt, .. }))) =
        event
    else {
        panic!("the scheduler is not told: {event:?}");
    };
    assert_eq!((copy.consumer, copy.seq, attempt), (1, SEQ, 1));
}

#[tokio::test]
async fn a_copy_whose_time_passes_during_the_write_before_it_is_not_written() {
    let mut world = connect(store(PAYLOAD)).await;
    let until = world.outbox.now().value() + nanos(Duration::from_millis(200));
    let until = Tick::new(until);
    deliver(&world.outbox, SEQ);
    deliver_until(&world.outbox, SEQ, until);
    let (reply, tag, weight) = (Reply::Pong, None, 0);
    world
        .outbox
        .push(ConsumerMessage::Reply { reply, tag, weight });
    world.outbox.wake();
    let mut client = BufReader::new(&mut world.client);
    // The rest of the first copy waits for the client.
    client.read_u8().await.unwrap();
    while world.outbox.now() <= until {
        sleep(Duration::from_millis(10)).await;
    }
    for expected in ["}\n", "{\"kind\":\"pong\"}\n"] {
        let mut line = String::new();
        let read = client.read_line(&mut line);
        timeout(PATIENCE, read).await.unwrap().unwrap();
        assert!(
            line.ends_with(expected),
            "it does not end with {expected:?}"
        );
    }
    let event = world.inbox.try_recv();
    assert!(
        matches!(
            event,
            Ok(ServerEvent::Input(FrontInput::NotSent(
                _,
                UnsentReason::TooLate { .. }
            )))
        ),
        "{event:?}"
    );
}

/// Waits until the connection has written the first byte of a copy that its client does not read.
async fn blocked(until: Tick) -> (World, BufReader<TcpStream>) {
    let mut world = connect(store(PAYLOAD)).await;
    deliver(&world.outbox, SEQ);
    deliver_until(&world.outbox, SEQ, until);
    world.outbox.wake();
    let client = std::mem::replace(&mut world.client, unconnected().await);
    let mut client = BufReader::new(client);
    client.read_u8().await.unwrap();
    (world, client)
}

/// A socket of no use.
async fn unconnected() -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap()
}

#[tokio::test]
async fn while_a_connection_takes_no_bytes_late_copies_are_told_in_time() {
    let soon = Clock::new().now().monotonic.value() + nanos(Duration::from_millis(300));
    let (world, _client) = blocked(Tick::new(soon)).await;
    deliver_until(&world.outbox, SEQ + 1, Tick::new(soon + 1));
    for seq in [SEQ, SEQ + 1] {
        let reported = timeout(PATIENCE, event(&world.inbox)).await.unwrap();
        let ServerEvent::Input(FrontInput::NotSent(copy, UnsentReason::TooLate { attempt, .. })) =
            reported
        else {
            panic!("{reported:?} is no late copy");
        };
        assert_eq!((copy.consumer, copy.seq, attempt), (1, seq, 1));
    }
}

#[tokio::test]
async fn what_a_broken_connection_was_not_written_is_told_before_its_end() {
    let (world, client) = blocked(Tick::new(u64::MAX)).await;
    deliver(&world.outbox, SEQ + 1);
    drop(client);
    assert!(is_closed(&world.inbox, PATIENCE).await);
    let unwritten = world.outbox.take_unwritten().into_iter();
    let unwritten = unwritten.map(|input| match input {
        FrontInput::NotSent(copy, UnsentReason::Unwritten { attempt: 1 }) => copy.seq,
        input => panic!("{input:?}"),
    });
    // The first copy was written in part.
    assert_eq!(unwritten.collect::<Vec<_>>(), [SEQ, SEQ + 1]);
}
