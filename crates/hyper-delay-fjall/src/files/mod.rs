//! What the files of the store say, without the library that writes them.

mod fault;
pub mod trailer;
pub mod version;

pub use fault::Fault;
