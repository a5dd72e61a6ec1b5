//! Allocates blocks of files in advance, on systems that support it.

use std::{
    fs::{File, Metadata},
    io,
};

/// Returns the size of a file's allocated blocks in bytes. 0 where the system does not report it.
#[cfg(unix)]
pub(super) fn allocated(metadata: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.blocks() * 512
}

#[cfg(not(unix))]
pub(super) fn allocated(_: &Metadata) -> u64 {
    0
}

/// Returns the free bytes on a file's disk. `None` where the system does not report them.
#[cfg(unix)]
pub(super) fn free(file: &File) -> io::Result<Option<u64>> {
    let disk = rustix::fs::fstatvfs(file)?;
    Ok(Some(disk.f_bavail.saturating_mul(disk.f_frsize)))
}

#[cfg(not(unix))]
pub(super) fn free(_: &File) -> io::Result<Option<u64>> {
    Ok(None)
}

/// Allocates the blocks of a range and extends the file to its end.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn extend(file: &File, from: u64, to: u64) -> io::Result<()> {
    let mode = rustix::fs::FallocateFlags::empty();
    Ok(rustix::fs::fallocate(file, mode, from, to - from)?)
}

/// Allocates the blocks of a range and keeps the size of the file.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn allocate_beyond_end(file: &File, from: u64, to: u64) -> io::Result<()> {
    let mode = rustix::fs::FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(file, mode, from, to - from)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn extend(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn allocate_beyond_end(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
