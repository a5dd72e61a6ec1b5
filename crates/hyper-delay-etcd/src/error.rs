use std::error::Error as _;

use tonic::{Code, Status};

/// What made the parts of TLS unusable.
pub(crate) type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a call failed, or why a client cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL cannot be used.
    #[error("{url:?} is not the URL of a member of etcd: {cure}")]
    Url {
        /// The URL, without a user and its password.
        url: String,
        /// What to change.
        cure: &'static str,
    },
    /// A certificate or a private key cannot be used.
    #[error("{part} cannot be used: {}", innermost(.source.as_ref()))]
    Tls {
        /// What cannot be used.
        part: &'static str,
        /// Why.
        source: Source,
    },
    /// etcd refused the call, or did not answer it: the member cannot be reached, the TLS handshake
    /// failed, or the connection was lost. [`Error::is_unavailable`] tells the two apart. The message
    /// does not name the member.
    #[error("{}", reason(.0))]
    Status(#[from] Box<Status>),
    /// etcd does not watch these keys.
    #[error("cannot watch {0}")]
    Unwatchable(&'static str),
    /// etcd refused a watch or ended it, for example because the user may not read the keys, or
    /// because it has compacted what the watch still needs.
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

    /// Whether the member did not answer, or could not serve the call: it cannot be reached, the
    /// connection was lost, it has no leader, or it ran out of time. It is unknown whether the
    /// request was carried out. Another member may answer.
    ///
    /// After any other error the outcome is known. etcd refused the request and changed nothing, or
    /// it carried out the request and the response cannot be read: it is too large or incomplete.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        use Code::{Cancelled, DeadlineExceeded, Internal, Unavailable, Unknown};
        let Self::Status(status) = self else {
            return false;
        };
        // A status that etcd sent has no source. An error of the connection has one, and any code.
        let is_of_connection = status.source().is_some();
        let code = status.code();
        is_of_connection
            || matches!(
                code,
                Cancelled | DeadlineExceeded | Internal | Unavailable | Unknown
            )
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
    fn refusals_of_etcd_are_told_from_missing_answers() {
        let lost = std::io::Error::other("connection reset");
        for status in [
            Status::from_error(Box::new(lost)),
            Status::unavailable("etcdserver: no leader"),
            Status::unavailable("etcdserver: request timed out"),
            Status::new(Code::Unknown, "context canceled"),
            Status::internal("Unexpected EOF decoding stream."),
        ] {
            let error = Error::from(status);
            assert!(error.is_unavailable(), "{error}");
        }
        for error in [
            Error::from(Status::invalid_argument("etcdserver: key not found")),
            Error::from(Status::permission_denied("etcdserver: permission denied")),
            Error::from(Status::out_of_range("message length too large")),
            Error::WatchEnded("etcdserver: permission denied".into()),
            Error::Incomplete("a header"),
        ] {
            assert!(!error.is_unavailable(), "{error}");
        }
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
