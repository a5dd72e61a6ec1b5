//! Reads the files of the store without the library that writes them.

mod current_file;
mod file_fault;
pub mod trailer;
pub mod version;

pub(crate) use current_file::CurrentFile;
pub use file_fault::FileFault;
