//! Where a race keeps its running attempts, and with which waker it polls them.

#[cfg(feature = "alloc")]
#[cfg_attr(docsrs, doc(cfg(feature = "alloc")))]
pub use crate::race::{Heap, OneWaker};
pub use crate::race::{Inline, Placement};
