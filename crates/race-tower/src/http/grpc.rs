//! The status of gRPC.

use http::HeaderMap;

/// A status code of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code(pub(super) u32);

impl Code {
    const UNKNOWN: Self = Self(2);
    pub(super) const UNAVAILABLE: Self = Self(14);

    /// Returns the status of an answer that has no message: it is in the headers. Any other answer
    /// has it in its trailers.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let status = headers.get("grpc-status")?;
        let status = status.to_str().ok().and_then(|it| it.trim().parse().ok());
        Some(status.map_or(Self::UNKNOWN, Self))
    }
}
