use std::{fs, io};

/// Returns the number of bytes that this process has passed to write calls.
pub(crate) fn written() -> io::Result<u64> {
    let counts = fs::read_to_string("/proc/self/io")?;
    let line = counts.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|count| count.parse().ok())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}
