use std::{io::ErrorKind, sync::Arc};

use tokio::sync::watch;

use super::{
    Shared, Slot, authentication::Authentication, halves::ReadHalf, handshake, idle::IdleTimer,
    requests::Requests,
};
use crate::outbox::Outbox;
use hyper_delay_engine::scheduler::ConsumerId;
use hyper_delay_protocol::{Code, Lines, Refusal, parse};
use hyper_delay_store::ReadStore;

/// The connection is closed after this many consecutive errors: the peer speaks another protocol.
const MAX_CONSECUTIVE_ERRORS: usize = 100;

/// Reads after the start of the shutdown, at most, to refuse the requests that have arrived.
const LAST_READS: usize = 16;

const NO_TLS: &str = "this server does not speak TLS here, and the connection began with a \
    handshake: connect without TLS, or set `tls` in the configuration of the server";

/// Reads until the connection ends or the server shuts down, and returns the reason for the log.
pub(super) async fn run<S: ReadStore>(
    shared: &Arc<Shared<S>>,
    id: ConsumerId,
    outbox: &Arc<Outbox>,
    read: &mut ReadHalf,
    (slot, certificate): (&Slot, Vec<String>),
) -> &'static str {
    let authentication = Authentication::new(shared, slot, certificate);
    let mut lines = Lines::new(authentication.longest_line());
    let mut unfinished = shared.unfinished.line_of(id);
    let mut idle = IdleTimer::start(slot.idle_timeout(&shared.config));
    let mut ending = shared.ending.clone();
    let address = read.peer_address();
    let mut requests = Requests::new(shared, (id, outbox), authentication, slot, address);
    let mut last_reads = 0;
    loop {
        let came = if requests.is_ending {
            last_reads += 1;
            read.try_read(&mut lines)
        } else {
            tokio::select! {
                biased;
                () = ended(&mut ending) => {
                    requests.is_ending = true;
                    continue;
                }
                changed = requests.authentication.changed() => {
                    if let Err(over) = changed {
                        return requests.end(over);
                    }
                    lines.raise(requests.authentication.longest_line());
                    continue;
                }
                () = unfinished.evicted(), if unfinished.is_held() => {
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
                came = read.read(&mut lines) => came,
            }
        };
        match came {
            Ok(0) => return "the client closed it",
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return "the server is shutting down";
            }
            Err(_) => return "it broke",
        }
        if lines.number() == 0 && lines.first_byte() == Some(handshake::FIRST_BYTE) {
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
                    let (weight, line) = (outbox.weight(line.len()), parse(line));
                    requests.line(line, lines.number(), weight).await;
                }
                Err(too_long) => {
                    let refusal = requests.authentication.too_long(too_long);
                    requests.line(Err(refusal), lines.number(), 1).await;
                }
            }
            if let Err(over) = requests.authentication.goes_on() {
                return requests.end(over);
            }
            lines.raise(requests.authentication.longest_line());
            if requests.consecutive_errors() == MAX_CONSECUTIVE_ERRORS {
                requests.flush();
                return "it sent 100 consecutive errors";
            }
        }
        unfinished.hold(lines.unfinished(), ended_a_line);
        if ended_a_line {
            idle.restart();
        }
        if !requests.flush() || last_reads == LAST_READS {
            return "the server has ended";
        }
    }
}

/// Waits until the server shuts down. The guard of the value must not live across an `await`.
pub(super) async fn ended(ending: &mut watch::Receiver<bool>) {
    let _ = ending.wait_for(|ending| *ending).await;
}
