//! What the tests of systems that do the same job expect, each under its own rule.

mod cpython;
mod failsafe;
mod finagle;
mod hedgedhttp;
mod polly;
mod tower;
