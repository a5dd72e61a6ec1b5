//! The durability of acknowledged writes: the field `sync`.

use std::{fmt, time::Duration};

use serde::Serialize;

/// When writes are forced onto the disk. In every mode an ack follows the write to the operating
/// system, so an acknowledged task survives the end of the process, also by SIGKILL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sync {
    /// Before each ack: a power failure loses no acknowledged task. The default.
    #[default]
    Always,
    /// Within this time, 1 ms to 60 s: a power failure loses at most the tasks that were
    /// acknowledged in it.
    Interval(Duration),
    /// When the operating system decides: a power failure loses what it had not written yet.
    Never,
}

/// The cure for a bad value.
pub(super) const WANTED: &str = "give \"always\", \"never\", or \"interval:\" and a time from 1ms \
    to 60s such as \"interval:50ms\"";

/// The prefix of the value with a time.
const INTERVAL: &str = "interval:";

impl Sync {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "always" => Some(Self::Always),
            "never" => Some(Self::Never),
            _ => {
                let time = humantime::parse_duration(text.strip_prefix(INTERVAL)?).ok()?;
                let range = Duration::from_millis(1)..=Duration::from_secs(60);
                range.contains(&time).then_some(Self::Interval(time))
            }
        }
    }
}

impl fmt::Display for Sync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Interval(time) => write!(f, "{INTERVAL}{}", humantime::format_duration(*time)),
            Self::Never => f.write_str("never"),
        }
    }
}

impl Serialize for Sync {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_modes_are_read_and_written() {
        for (text, sync) in [
            ("always", Sync::Always),
            ("never", Sync::Never),
            ("interval:1ms", Sync::Interval(Duration::from_millis(1))),
            ("interval:50ms", Sync::Interval(Duration::from_millis(50))),
            (
                "interval:1s 500ms",
                Sync::Interval(Duration::from_millis(1_500)),
            ),
            ("interval:1m", Sync::Interval(Duration::from_secs(60))),
        ] {
            assert_eq!(Sync::parse(text), Some(sync));
            assert_eq!(sync.to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_no_mode() {
        for text in [
            "",
            "Always",
            "interval",
            "interval:",
            "interval:50",
            "interval:0ms",
            "interval:999us",
            "interval:61s",
            "interval:-1s",
        ] {
            assert_eq!(Sync::parse(text), None, "{text}");
        }
    }
}
