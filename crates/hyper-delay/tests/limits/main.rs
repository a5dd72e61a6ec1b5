//! The server under load, and with peers that are slow, many or gone. What is "not delayed" is told by the order of
//! events, not by the clock.

mod bulk;

mod away;
mod flood;
mod many;
mod one_millisecond;
mod server;
mod slow;
