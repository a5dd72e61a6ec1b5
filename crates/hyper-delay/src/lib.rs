//! A durable delayed-task server: clients schedule payloads for a time, and the server delivers them then, over a
//! long-lived connection, until they are acknowledged.

pub mod config;
pub mod protocol;
