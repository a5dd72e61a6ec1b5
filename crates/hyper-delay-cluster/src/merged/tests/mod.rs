//! A node answers as a server without a cluster that has the same tasks.

mod backup;
mod client;
mod embedded;
mod gauges;
mod reads;
mod replaced;
mod requests;
mod search;
mod side;
