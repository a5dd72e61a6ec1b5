//! Tokens: who the client is.

use std::env;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

/// The variables of the environment for [`Token::from_env`].
const TEXT: &str = "HYPER_DELAY_TOKEN";
const FILE: &str = "HYPER_DELAY_TOKEN_FILE";

/// The longest token, in bytes.
const LONGEST: usize = 1_024;

/// The most bytes that are read of a file: what is longer is no token.
const LONGEST_FILE: u64 = 64 << 10;

/// A token that shows the server who the client is, for [`Builder::token`](crate::Builder::token).
/// `hyper-delay token new` makes one.
///
/// Its value appears neither in `Debug` nor in errors and logs.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use hyper_delay_client::{Client, Token};
///
/// let client = Client::builder("127.0.0.1:7000")
///     .token(Token::file("/etc/billing/token"))
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Source);

#[derive(Clone, PartialEq, Eq)]
enum Source {
    Text(Arc<str>),
    File(PathBuf),
}

impl Token {
    /// Takes the text of a token. It must not come from the command line, which others can see.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Source::Text(text.into().into()))
    }

    /// Reads the token from a file, again for each connection attempt, so that a renewed one needs
    /// no restart. White space around it is ignored.
    pub fn file(file: impl Into<PathBuf>) -> Self {
        Self(Source::File(file.into()))
    }

    /// Returns the token in `HYPER_DELAY_TOKEN`, or else in the file that `HYPER_DELAY_TOKEN_FILE`
    /// names. `None` if both are unset or empty.
    ///
    /// # Errors
    ///
    /// If `HYPER_DELAY_TOKEN` cannot be a token.
    pub fn from_env() -> Result<Option<Self>, TokenError> {
        Self::from(|name| env::var_os(name))
    }

    fn from(
        variable: impl Fn(&str) -> Option<std::ffi::OsString>,
    ) -> Result<Option<Self>, TokenError> {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        if let Some(text) = set(TEXT) {
            let token = Self::new(text.into_string().unwrap_or_default());
            return token.reveal().map(|_| Some(token));
        }
        Ok(set(FILE).map(Self::file))
    }

    /// Returns the text of the token, for a program that speaks the protocol itself. Reads its
    /// file.
    ///
    /// # Errors
    ///
    /// If its file cannot be read, or it cannot be a token.
    pub fn reveal(&self) -> Result<String, TokenError> {
        let (text, origin) = match &self.0 {
            Source::Text(text) => (text.to_string(), "the token".to_owned()),
            Source::File(file) => match read_start(file) {
                Ok(text) => (text, format!("the token in {file:?}")),
                Err(source) => {
                    return Err(TokenError::Unreadable {
                        file: file.clone(),
                        source,
                    });
                }
            },
        };
        let text = text.trim();
        let is_token =
            (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        match is_token {
            true => Ok(text.to_owned()),
            false => Err(TokenError::Malformed { origin }),
        }
    }

    /// Reads the token for a connection.
    pub(crate) async fn read(&self) -> Result<String, TokenError> {
        let token = self.clone();
        let reading = tokio::task::spawn_blocking(move || token.reveal());
        match reading.await {
            Ok(read) => read,
            Err(error) => Err(TokenError::Unreadable {
                file: PathBuf::new(),
                source: io::Error::other(error),
            }),
        }
    }
}

/// Returns the text of a file, or more of it than a token has.
fn read_start(file: &Path) -> io::Result<String> {
    let mut start = Vec::new();
    File::open(file)?
        .take(LONGEST_FILE + 1)
        .read_to_end(&mut start)?;
    if start.len() as u64 > LONGEST_FILE {
        // No token, also if the rest is white space.
        return Ok(String::new());
    }
    String::from_utf8(start).map_err(|error| {
        // Without the bytes, which can be those of a secret.
        io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())
    })
}

/// Shows where it comes from.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Text(_) => f.write_str("Token"),
            Source::File(file) => f.debug_tuple("Token").field(file).finish(),
        }
    }
}

/// Why there is no token. No message contains a part of it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the token in {file:?}")]
    #[non_exhaustive]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The text is empty, long, or has characters that no token has.
    #[error("{origin} is none: give the one line that `hyper-delay token new` has printed")]
    #[non_exhaustive]
    Malformed {
        /// Where it comes from.
        origin: String,
    },
    /// The connection is not encrypted and leaves this machine.
    #[error("the token would cross the network unencrypted: connect with TLS")]
    Unencrypted,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn value_is_neither_in_debug_nor_in_errors() {
        let token = Token::new("hd_secret");
        assert_eq!(format!("{token:?}"), "Token");
        assert_eq!(token.reveal().unwrap(), "hd_secret");
        for wrong in ["", " ", "two words", "sécret", &"x".repeat(2_000)] {
            let error = Token::new(wrong).reveal().unwrap_err().to_string();
            assert!(error.starts_with("the token is none: give"), "{error}");
        }
    }

    #[test]
    fn file_is_read_without_white_space_and_named_in_errors() {
        let file = env::temp_dir().join(format!("hyper-delay-token-{}", std::process::id()));
        fs::write(&file, "  hd_secret\r\n").unwrap();
        let token = Token::file(&file);
        assert_eq!(token.reveal().unwrap(), "hd_secret");
        fs::write(&file, "hd_one\nhd_two\n").unwrap();
        let error = token.reveal().unwrap_err().to_string();
        assert!(error.contains("hyper-delay-token-"), "{error}");
        assert!(!error.contains("hd_"), "{error}");
        fs::remove_file(&file).unwrap();
        let error = token.reveal().unwrap_err().to_string();
        assert!(error.starts_with("cannot read the token in"), "{error}");
    }

    #[test]
    fn large_files_are_no_tokens_and_are_not_read_to_their_end() {
        let name = format!("hyper-delay-large-{}", std::process::id());
        let file = env::temp_dir().join(name);
        fs::write(&file, format!("hd_secret{}", " ".repeat(100_000))).unwrap();
        let error = Token::file(&file).reveal().unwrap_err();
        assert!(matches!(error, TokenError::Malformed { .. }), "{error}");
        fs::write(&file, b"hd_\xff").unwrap();
        let error = Token::file(&file).reveal().unwrap_err();
        assert!(matches!(error, TokenError::Unreadable { .. }), "{error}");
        fs::remove_file(&file).unwrap();
        #[cfg(unix)]
        {
            let endless = Token::file("/dev/zero").reveal().unwrap_err();
            assert!(matches!(endless, TokenError::Malformed { .. }), "{endless}");
        }
    }

    #[test]
    fn text_of_the_environment_takes_precedence_over_its_file() {
        let of = |text: &'static str, file: &'static str| {
            Token::from(move |name| match name {
                TEXT => Some(text.into()),
                FILE => Some(file.into()),
                other => panic!("{other}"),
            })
        };
        assert_eq!(of("hd_a", "f").unwrap(), Some(Token::new("hd_a")));
        assert_eq!(of("", "f").unwrap(), Some(Token::file("f")));
        assert_eq!(of("", "").unwrap(), None);
        assert!(of("a b", "f").is_err());
    }
}
