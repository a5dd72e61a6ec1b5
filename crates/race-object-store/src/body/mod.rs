//! The body of a GET: decided at its first byte, and watched for stalls from then on.
//!
//! A body that has had no byte for the delay while it was polled has stalled. A *continuation* is
//! then requested: the rest of the range, of the same version of the object. The stalled body and
//! its continuations are the attempts of one race, which the first one with a byte wins.
//!
//! - `first_byte` decides a GET.
//! - `continuation` asks for the rest of a body, and checks the answer.
//! - `stall` measures how long a body keeps its reader waiting.
//! - `race` holds the race of a body that stalls.
//! - `watched` is the stream that the caller reads.

mod continuation;
mod first_byte;
mod race;
mod stall;
mod watched;

use bytes::Bytes;
use futures_core::stream::BoxStream;
use object_store::Result;

pub(crate) use continuation::Rest;
pub(crate) use first_byte::begin;
pub(crate) use watched::watch;

type Body = BoxStream<'static, Result<Bytes>>;
