//! Tests of every rule in `PROTOCOL.md`, in raw bytes over loopback sockets.

mod deliveries;
mod server;

mod document;
mod errors;
mod hello;
mod lines;

mod accept;
mod register;
mod sharing;

mod dedupe;
mod fire_at;
mod own_route;
mod schedule;

mod ack;
mod late;
mod nack;
mod retry;
mod same_id;

mod cancel;
mod hedge;
mod hedge_end;
mod orders;
mod orphaned;
mod parked;
mod replace;

mod dead;
mod look;
mod operate;
mod short_lines;
mod stats;
mod terms;
mod touch;
mod unharmed;

mod abandoned;
mod connections;
mod restart;
mod shutdown;
