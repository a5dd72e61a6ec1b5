//! Writes and syncs to the disk without a store.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
    time::{Duration, Instant},
};

/// A sparse file of a fixed length, like the store's journal: its blocks are allocated when they
/// are first written.
pub(crate) struct Raw {
    file: File,
    bytes: Vec<u8>,
}

impl Raw {
    /// Creates a file for writes of `bytes` bytes each.
    pub(crate) fn new(directory: &Path, name: &str, bytes: usize) -> io::Result<Self> {
        const LENGTH: u64 = 256 << 20;
        let file = File::create(directory.join(name))?;
        file.set_len(LENGTH)?;
        Ok(Self {
            file,
            bytes: vec![b'x'; bytes],
        })
    }

    /// Writes and syncs for `time`. Returns the seconds per write.
    pub(crate) fn run(&mut self, time: Duration) -> io::Result<f64> {
        let begin = Instant::now();
        let mut writes = 0_u32;
        while begin.elapsed() < time {
            self.file.write_all(&self.bytes)?;
            self.file.sync_data()?;
            writes += 1;
        }
        Ok(begin.elapsed().as_secs_f64() / f64::from(writes))
    }
}
