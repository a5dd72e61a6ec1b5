use std::{io, path::PathBuf};

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The environment variable is empty.
    #[error("HYPER_DELAY_CONFIG is empty: set it to the name of a file, or unset it")]
    NoName,
    /// An environment variable has an invalid value.
    #[error("{variable} is {value:?}: {cure}")]
    BadVariable {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The valid values.
        cure: String,
    },
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}; {}", file.display(), cure(source))]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not one JSON object.
    #[error(
        "{file}: not a JSON object with each field once: {source}; an example is {{\"credit\":16}}"
    )]
    BadJson {
        /// The file.
        file: String,
        /// The place and the cause.
        source: serde_json::Error,
    },
    /// A field is unknown.
    #[error("{file}: {field} is no field: {}give {known}", did_you_mean(*meant))]
    UnknownField {
        /// The file.
        file: String,
        /// The name in the file.
        field: String,
        /// The field that is most like it, if one is.
        meant: Option<&'static str>,
        /// The names of all fields.
        known: String,
    },
    /// A field has an invalid value.
    #[error("{file}: {field} is {value}: {cure}")]
    BadField {
        /// The file.
        file: String,
        /// The field.
        field: String,
        /// The value in the file, as JSON.
        value: String,
        /// The valid values.
        cure: String,
    },
}

/// Returns the question whether this field is meant. Empty without one.
pub(super) fn did_you_mean(meant: Option<&str>) -> String {
    meant.map_or_else(String::new, |field| format!("did you mean {field}? Else "))
}

/// Returns the cure for a file that cannot be read.
fn cure(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "make it, or name another one",
        io::ErrorKind::IsADirectory => "it is a folder: name the file in it",
        io::ErrorKind::InvalidData => "save it as UTF-8",
        _ => "let the user of the server read it",
    }
}
