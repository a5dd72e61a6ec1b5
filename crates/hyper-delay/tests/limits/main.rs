//! The server under load, and with peers that are slow, many or gone. Tests compare the order of
//! events, not the time they take.

mod bulk;

mod away;
mod flood;
mod many;
mod one_millisecond;
mod server;
mod slow;
