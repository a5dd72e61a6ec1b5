use std::{io::ErrorKind, sync::Arc};

use tokio::sync::watch;

use super::{
    ConnectionContext, Slot, authentication::Authentication, dispatch::RequestDispatcher,
    idle_timeout::IdleTimer, stream_halves::ReadHalf, tls_handshake,
};
use crate::outbox::ConnectionOutbox;
use hyper_delay_engine::scheduler::ConsumerId;
use hyper_delay_protocol::{Code, Lines, Refusal};
use hyper_delay_store::ReadStore;

/// The connection is closed after this many consecutive errors: the peer speaks another protocol.
const MAX_CONSECUTIVE_ERRORS: usize = 100;

/// Reads after the start of the shutdown, at most, to refuse the requests that have arrived.
const LAST_READS: usize = 16;

const NO_TLS: &str = "this server does not speak TLS here, and the connection began with a \
    handshake: connect without TLS, or set `tls` in the configuration of the server";

/// Reads until the connection ends or the server shuts down, and returns the reason for the log.
pub(super) async fn run<S: ReadStore>(
    shared: &Arc<ConnectionContext<S>>,
    id: ConsumerId,
    outbox: &Arc<ConnectionOutbox>,
    read: &mut ReadHalf,
    (slot, certificate): (&Slot, Vec<String>),
) -> &'static str {
    let authentication = Authentication::new(shared, slot, certificate);
    let mut lines = Lines::new(authentication.longest_line());
    let mut unfinished = shared.unfinished.register(id);
    let mut idle = IdleTimer::start(slot.idle_timeout(&shared.config));
    let mut ending = shared.ending.clone();
    let address = read.peer_address();
    let mut requests = RequestDispatcher::new(shared, (id, outbox), authentication, slot, address);
    let mut last_reads = 0;
    loop {
        let read_result = if requests.is_ending {
            last_reads += 1;
            read.try_read(&mut lines)
        } else {
            tokio::select! {
                biased;
                () = shutdown_started(&mut ending) => {
                    requests.is_ending = true;
                    continue;
                }
                changed = requests.authentication.changed() => {
                    if let Err(reason) = changed {
                        return requests.close_with(reason);
                    }
                    lines.raise(requests.authentication.longest_line());
                    continue;
                }
                () = unfinished.evicted(), if unfinished.is_begun() => {
                    // The bytes go before the wait for room.
                    drop(lines);
                    requests.refuse_unfinished().await;
                    return "the unfinished lines of all connections took too much memory";
                }
                () = idle.expired(), if idle.is_set() => {
                    if requests.is_idle().await {
                        return "it was idle";
                    }
                    idle.restart();
                    continue;
                }
                read_result = read.read(&mut lines) => read_result,
            }
        };
        match read_result {
            Ok(0) => return "the client closed it",
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return "the server is shutting down";
            }
            Err(_) => return "it broke",
        }
        if lines.number() == 0 && lines.first_byte() == Some(tls_handshake::FIRST_BYTE) {
            requests
                .refuse(Refusal::new(Code::BadJson, NO_TLS), 1)
                .await;
            return "it began with a TLS handshake";
        }
        let mut ended_a_line = false;
        while let Some(line) = lines.next() {
            ended_a_line = true;
            match line {
                Ok(line) => {
                    let (weight, line) = (outbox.weight(line.len()), requests.parse(line));
                    requests.dispatch(line, lines.number(), weight).await;
                }
                Err(too_long) => {
                    let refusal = requests.authentication.too_long(too_long);
                    requests.dispatch(Err(refusal), lines.number(), 1).await;
                }
            }
            if let Err(reason) = requests.authentication.check_open() {
                return requests.close_with(reason);
            }
            lines.raise(requests.authentication.longest_line());
            if requests.consecutive_errors() == MAX_CONSECUTIVE_ERRORS {
                requests.flush();
                return "it sent 100 consecutive errors";
            }
        }
        unfinished.set_bytes(lines.unfinished(), ended_a_line);
        if ended_a_line {
            idle.restart();
        }
        if !requests.flush() || last_reads == LAST_READS {
            return "the server has ended";
        }
    }
}

/// Waits until the server shuts down. The guard of the value must not live across an `await`.
pub(super) async fn shutdown_started(ending: &mut watch::Receiver<bool>) {
    let _ = ending.wait_for(|ending| *ending).await;
}
