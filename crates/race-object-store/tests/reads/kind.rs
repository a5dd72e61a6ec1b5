//! The errors of a store.

use object_store::Error;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    NotFound,
    NotModified,
    Precondition,
    AlreadyExists,
    PermissionDenied,
    Unauthenticated,
    NotSupported,
    NotImplemented,
    InvalidPath,
    UnknownConfigurationKey,
    /// The only one that is no answer.
    Generic,
}

impl Kind {
    pub(crate) const ANSWERS: [Self; 10] = [
        Self::NotFound,
        Self::NotModified,
        Self::Precondition,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::Unauthenticated,
        Self::NotSupported,
        Self::NotImplemented,
        Self::InvalidPath,
        Self::UnknownConfigurationKey,
    ];

    /// Makes the error of the read with this number.
    pub(crate) fn error(self, number: usize) -> Error {
        let (path, source) = (String::from("a"), format!("read {number}").into());
        let text = || format!("read {number}");
        match self {
            Self::NotFound => Error::NotFound { path, source },
            Self::NotModified => Error::NotModified { path, source },
            Self::Precondition => Error::Precondition { path, source },
            Self::AlreadyExists => Error::AlreadyExists { path, source },
            Self::PermissionDenied => Error::PermissionDenied { path, source },
            Self::Unauthenticated => Error::Unauthenticated { path, source },
            Self::NotSupported => Error::NotSupported { source },
            Self::NotImplemented => Error::NotImplemented {
                operation: text(),
                implementer: text(),
            },
            Self::InvalidPath => Error::InvalidPath {
                source: object_store::path::Error::EmptySegment { path: text() },
            },
            Self::UnknownConfigurationKey => Error::UnknownConfigurationKey {
                store: "Slow",
                key: text(),
            },
            Self::Generic => Error::Generic {
                store: "Slow",
                source,
            },
        }
    }
}
