use std::{sync::Arc, time::Duration};

use tokio::{io::AsyncWriteExt, net::tcp::OwnedWriteHalf, time::timeout};

use super::Shared;
use crate::{
    driver::Event,
    outbox::Outbox,
    protocol::Delivery,
    record::{self, Task, key},
    scheduler::{ConsumerId, Input, Message},
    store::{Space, Store, StoreError},
};

/// A connection that accepts no bytes for this time is closed.
const STALLED: Duration = Duration::from_secs(30);

/// The approximate size of one write.
const CHUNK: usize = 64 << 10;

/// Writes until the outbox is closed and empty, and returns the reason for the end.
pub(super) async fn run<S: Store>(
    shared: Arc<Shared<S>>,
    id: ConsumerId,
    outbox: Arc<Outbox>,
    mut write: OwnedWriteHalf,
) -> &'static str {
    let mut bytes = Vec::new();
    let mut messages = Vec::new();
    loop {
        messages = match outbox.next(messages).await {
            Some(messages) => messages,
            None => {
                let _ = write.shutdown().await;
                return "everything is written";
            }
        };
        let mut weight = 0;
        let mut left = messages.drain(..).peekable();
        while let Some(message) = left.next() {
            match encode(&shared, id, message, &mut bytes) {
                Ok(of_this) => weight += of_this,
                Err(error) => {
                    tracing::error!(%error, "a delivery could not be read");
                    return "the store failed";
                }
            }
            if bytes.len() >= CHUNK || left.peek().is_none() {
                if let Err(why) = put(&mut write, &bytes).await {
                    return why;
                }
                bytes.clear();
                outbox.give(weight);
                weight = 0;
            }
        }
        drop(left);
        bytes.shrink_to(CHUNK);
        messages.shrink_to(CHUNK / 64);
    }
}

/// Appends the line of a message, and returns the weight of its request.
fn encode<S: Store>(
    shared: &Shared<S>,
    consumer: ConsumerId,
    message: Message,
    bytes: &mut Vec<u8>,
) -> Result<u32, StoreError> {
    match message {
        Message::Reply { reply, tag, weight } => {
            reply.encode(tag.as_deref(), bytes);
            Ok(weight)
        }
        Message::Quiet(weight) => Ok(weight),
        Message::Deliver {
            seq,
            route,
            id,
            attempt,
        } => {
            // The task was acknowledged, cancelled or replaced in the meantime. No copy is written,
            // so no answer will come.
            let Some(value) = shared.store.get(Space::Tasks, &key::task(seq))? else {
                let unsent = Input::Unsent { consumer, seq, id };
                let _ = shared.events.send(Event::Input(unsent));
                return Ok(0);
            };
            let task: Task<'_> = record::decode(&value)?;
            Delivery {
                id: &id,
                route: &route,
                fire_at: task.fire_at,
                compression: task.compression,
                payload: task.payload,
                attempt,
            }
            .encode(bytes);
            Ok(0)
        }
    }
}

async fn put(write: &mut OwnedWriteHalf, mut bytes: &[u8]) -> Result<(), &'static str> {
    while !bytes.is_empty() {
        match timeout(STALLED, write.write(bytes)).await {
            Ok(Ok(0)) | Ok(Err(_)) => return Err("it cannot be written to"),
            Ok(Ok(written)) => bytes = &bytes[written..],
            Err(_) => return Err("it accepted no bytes for 30 seconds"),
        }
    }
    Ok(())
}
