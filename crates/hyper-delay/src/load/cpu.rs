use std::{fs, io, time::Duration};

use super::LoadError;

/// The processor time that a process had, in user and system mode, of all its threads. Linux tells it in hundredths of a
/// second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu(Duration);

impl Cpu {
    /// What a process has had up to now.
    ///
    /// # Errors
    ///
    /// If there is no such process, or no `/proc`.
    pub fn of(pid: u32) -> Result<Self, LoadError> {
        let failed = |source| LoadError::Process { pid, source };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(failed)?;
        parse(&stat).ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))
    }

    /// What a process has had since.
    #[must_use]
    pub fn since(self, before: Self) -> Duration {
        self.0.saturating_sub(before.0)
    }
}

/// The name of the program, in brackets, can have anything in it. utime and stime are the 12th and 13th field after it.
fn parse(stat: &str) -> Option<Cpu> {
    /// A tick, which is the same on every Linux that there is.
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
