use std::{fs, io, time::Duration};

use super::LoadError;

/// The processor time of a process: user and system time of all its threads. Linux reports it in
/// hundredths of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu(Duration);

impl Cpu {
    /// Reads the processor time that a process has used so far.
    ///
    /// # Errors
    ///
    /// The process or `/proc` does not exist.
    pub fn of(pid: u32) -> Result<Self, LoadError> {
        let failed = |source| LoadError::Process { pid, source };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(failed)?;
        parse(&stat).ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))
    }

    /// Returns the processor time used since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Duration {
        self.0.saturating_sub(before.0)
    }
}

/// Parses `/proc/<pid>/stat`. The program name is in brackets and may contain any characters; utime
/// and stime are the 12th and 13th fields after it.
fn parse(stat: &str) -> Option<Cpu> {
    /// `USER_HZ` is 100 on every Linux platform.
    const TICK: Duration = Duration::from_millis(10);
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(Cpu(TICK * ticks()?.checked_add(ticks()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 1 2 3 4 150 25 0 0 20 0 1 0";
        assert_eq!(parse(stat), Some(Cpu(Duration::from_millis(1_750))));
        assert_eq!(parse("7 (a) S"), None);
    }
}
