//! What the files of the store say, without the library that writes them.

mod fault;
pub(crate) mod trailer;
pub(crate) mod version;

pub(crate) use fault::Fault;
