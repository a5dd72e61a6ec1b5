//! The compressions that a consumer accepts.

use super::Compression;

/// The compressions of payloads that a consumer accepts. Default: all. A payload that is not
/// compressed is always accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Accept {
    lz4: bool,
    zstd: bool,
}

impl Accept {
    /// Accepts only these compressions.
    #[must_use]
    pub fn only(compressions: &[Compression]) -> Self {
        Self {
            lz4: compressions.contains(&Compression::Lz4),
            zstd: compressions.contains(&Compression::Zstd),
        }
    }

    /// Returns whether a payload of this compression is accepted as it is.
    #[must_use]
    pub const fn takes(self, compression: Compression) -> bool {
        match compression {
            Compression::None => true,
            Compression::Lz4 => self.lz4,
            Compression::Zstd => self.zstd,
        }
    }
}

impl Default for Accept {
    fn default() -> Self {
        Self {
            lz4: true,
            zstd: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_that_is_not_compressed_is_always_accepted() {
        use Compression::{Lz4, None, Zstd};
        for (listed, taken) in [
            (&[None][..], [true, false, false]),
            (&[Lz4], [true, true, false]),
            (&[Zstd, None, Zstd], [true, false, true]),
            (&[Lz4, Zstd], [true, true, true]),
        ] {
            let accept = Accept::only(listed);
            assert_eq!([None, Lz4, Zstd].map(|it| accept.takes(it)), taken);
        }
        assert_eq!(Accept::default(), Accept::only(&[Lz4, Zstd]));
    }
}
