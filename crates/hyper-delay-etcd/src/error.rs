use std::error::Error as _;

use tonic::{Code, Status};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The member cannot be reached, or the URL or a certificate cannot be used.
    #[error("{}", innermost(.0))]
    Transport(#[from] tonic::transport::Error),
    /// etcd refused the call, or the connection was lost.
    #[error("{}", reason(.0))]
    Status(#[from] Box<Status>),
    /// etcd ended a watch, for example because the member has no leader any more.
    #[error("etcd ended the watch: {0}")]
    WatchEnded(String),
    /// The response lacks a part.
    #[error("the answer lacks {0}: is this etcd 3.4 or later?")]
    Incomplete(&'static str),
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Self::Status(status.into())
    }
}

impl Error {
    /// Whether the response has more bytes than the client takes, 4 MiB.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.says("message length too large")
    }

    /// Whether etcd does not keep the revision of the read any more.
    #[must_use]
    pub fn is_compacted(&self) -> bool {
        self.says("revision has been compacted")
    }

    /// Whether another token may help: this one is unknown to etcd, or older than a change of its
    /// users.
    pub(crate) fn is_about_token(&self) -> bool {
        match self {
            Self::Status(status) if status.code() == Code::Unauthenticated => true,
            Self::Status(_) => self.says("revision of auth store is old"),
            Self::WatchEnded(reason) => reason.contains("invalid auth token"),
            _ => false,
        }
    }

    fn says(&self, what: &str) -> bool {
        matches!(self, Self::Status(status) if status.message().contains(what))
    }
}

/// The errors above the innermost one repeat what is below them, as code.
fn innermost(mut error: &dyn std::error::Error) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

fn reason(status: &Status) -> String {
    match status.source() {
        Some(source) => innermost(source),
        None if status.message().is_empty() => status.code().to_string(),
        None => status.message().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_of_etcd_is_shown_alone() {
        let error = Error::from(Status::not_found("etcdserver: it is missing"));
        assert_eq!(error.to_string(), "etcdserver: it is missing");
        let error = Error::from(Status::new(Code::Unavailable, ""));
        assert_eq!(error.to_string(), Code::Unavailable.to_string());
    }

    #[test]
    fn errors_of_tokens_are_known() {
        let status = |code, message: &str| Error::from(Status::new(code, message));
        for error in [
            status(Code::Unauthenticated, "etcdserver: invalid auth token"),
            status(
                Code::InvalidArgument,
                "etcdserver: revision of auth store is old",
            ),
            Error::WatchEnded("etcdserver: invalid auth token".into()),
        ] {
            assert!(error.is_about_token(), "{error}");
        }
        for error in [
            status(Code::InvalidArgument, "etcdserver: user name is empty"),
            status(Code::PermissionDenied, "etcdserver: permission denied"),
            Error::WatchEnded("etcdserver: no leader".into()),
        ] {
            assert!(!error.is_about_token(), "{error}");
        }
    }
}
