//! Facts from the tests of similar systems, each under its own failure rule.

mod cpython;
mod failsafe;
mod finagle;
mod hedgedhttp;
mod polly;
mod tower;
