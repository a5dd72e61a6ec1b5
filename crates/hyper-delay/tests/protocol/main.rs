//! Tests of every rule in `PROTOCOL.md`, in raw bytes over loopback sockets.

mod deliveries;
mod server;

mod document;
mod errors;
mod hello;
mod lines;
mod strict;

mod accept;
mod register;
mod sharing;

mod dedupe;
mod due;
mod fire_at;
mod own_route;
mod schedule;

mod ack;
mod bulk_moves;
mod late;
mod moves;
mod nack;
mod retry;
mod retrying;
mod same_id;

mod cancel;
mod changes_in_flight;
mod hedge;
mod hedge_end;
mod orphaned;
mod parked;
mod replace;

mod dead;
mod operator_requests;
mod released_deliveries;
mod short_lines;
mod stats;
mod task_queries;
mod terms;
mod touch;

mod abandoned;
mod connections;
mod restart;
mod shutdown;
