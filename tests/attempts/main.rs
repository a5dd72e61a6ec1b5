//! What a set of attempts promises: against a model, against a peer, and one sentence at a time.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod differential;
mod model;
mod probe;
mod sound;
