//! Versions of the protocol. A connection speaks version 1 until the server has answered its
//! `hello`.

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum Version {
    /// The version of a connection that sends no `hello`: the reply to `schedule` has kind `ack`.
    #[default]
    V1,
    /// The reply to `schedule` has kind `scheduled`.
    V2,
}

impl Version {
    /// The highest version that this server speaks.
    pub const LATEST: Self = Self::V2;

    /// The version for a client that asks for version `wanted`: the same one, or the latest one if
    /// `wanted` is newer.
    #[must_use]
    pub const fn agreed(wanted: u64) -> Self {
        match wanted {
            ..=1 => Self::V1,
            _ => Self::LATEST,
        }
    }

    /// The version as it is on the wire.
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_common_version_is_agreed_on() {
        let agreed = [1, 2, 3, 1 << 53].map(|wanted| Version::agreed(wanted).number());
        assert_eq!(agreed, [1, 2, 2, 2]);
    }
}
