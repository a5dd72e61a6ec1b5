//! The file `current` in the folder of a space. It names the newest list of tables, a version file.
//!
//! ```text
//! current = version: u64, checksum of the version file: u128 (XXH3), type of the checksum: 0
//! ```

use xxhash_rust::xxh3::xxh3_128;

/// The content of a file `current`.
#[derive(Debug)]
pub(crate) struct CurrentFile {
    version: u64,
    checksum: u128,
    /// The type of the checksum. The library refuses all others than 0.
    pub(crate) checksum_type: u8,
}

impl CurrentFile {
    pub(crate) const LENGTH: usize = 8 + 16 + 1;

    /// Decodes the file. `None` if it does not have [`LENGTH`](Self::LENGTH) bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first_chunk()?;
        let (checksum, rest) = rest.split_first_chunk()?;
        let [checksum_type] = *rest else {
            return None;
        };
        Some(Self {
            version: u64::from_le_bytes(*version),
            checksum: u128::from_le_bytes(*checksum),
            checksum_type,
        })
    }

    /// Returns the name of the version file.
    pub(crate) fn version_file_name(&self) -> String {
        format!("v{}", self.version)
    }

    /// Returns whether `list` is the content of the version file.
    pub(crate) fn matches(&self, list: &[u8]) -> bool {
        xxh3_128(list) == self.checksum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_checksum_are_read_from_exactly_25_bytes() {
        let mut bytes = 258_u64.to_le_bytes().to_vec();
        bytes.extend(xxh3_128(b"list").to_le_bytes());
        assert!(CurrentFile::decode(&bytes).is_none(), "too short");
        bytes.push(3);
        let current = CurrentFile::decode(&bytes).unwrap();
        assert_eq!(
            (&*current.version_file_name(), current.checksum_type),
            ("v258", 3)
        );
        assert!(current.matches(b"list") && !current.matches(b"lisp"));
        bytes.push(0);
        assert!(CurrentFile::decode(&bytes).is_none(), "too long");
    }
}
