use std::{fs, io};

/// The resident memory of a process in megabytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resident {
    /// `VmRSS`: everything.
    pub(crate) all: u64,
    /// `RssAnon`: without mapped files.
    pub(crate) anonymous: u64,
}

impl Resident {
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let megabytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
            Some(kibibytes * 1_024 / 1_000_000)
        };
        let found = |figure: Option<u64>| figure.ok_or(io::ErrorKind::InvalidData);
        Ok(Self {
            all: found(megabytes("VmRSS:"))?,
            anonymous: found(megabytes("RssAnon:"))?,
        })
    }
}
