//! The server under load, and with peers that are slow, many, greedy or gone. Tests compare the
//! order of events, not the time they take.

mod bulk;

mod away;
mod dead_peer;
mod descriptors;
mod flood;
mod idle;
mod logs;
mod many;
mod one_millisecond;
mod operator;
mod routes;
mod server;
mod slow;
mod unfinished;
