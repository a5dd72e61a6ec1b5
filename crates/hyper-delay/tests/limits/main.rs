//! The server under load, and with slow, numerous, greedy or unreachable peers. Tests compare the
//! order of events, not their duration.

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
