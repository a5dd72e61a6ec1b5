//! Networks with a NAT64.

mod addresses;
mod discovery;
mod prefix;
mod routes;
