//! The file of tokens.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{atomic_replace, token_entry::TokenEntry, tokens::normalized_name};

/// A file of tokens that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFileError {
    /// It cannot be read.
    #[error("the file of tokens {}: cannot be read: {source}; {}", file.display(), cure(source))]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("{}: cannot be written: {source}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Others than its owner can read it or write to it.
    #[error("{}: its mode is {mode:o}, and others can use it: run chmod 600 on it", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It is no regular file, or a large one.
    #[error("{}: {why}", file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// The cause and the cure.
        why: &'static str,
    },
    /// It is not a list of tokens.
    #[error("{}: {source}; make tokens with `hyper-delay token new`", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The place and the cause.
        source: serde_json::Error,
    },
    /// A token of it is invalid.
    #[error("{}: token {token:?}: {cure}", file.display())]
    BadToken {
        /// The file.
        file: PathBuf,
        /// The id in the file.
        token: String,
        /// The fault and the cure.
        cure: String,
    },
}

/// Returns the cure for a file that cannot be read.
fn cure(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "make it with `hyper-delay token new`, or name another one",
        io::ErrorKind::InvalidData => "make it again with `hyper-delay token new`",
        _ => "let the user of the server read it",
    }
}

/// The largest file: about 60,000 tokens.
const MOST: u64 = 16 << 20;

/// A file of tokens, to read and to change.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    list: TokenList,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenList {
    tokens: Vec<TokenEntry>,
}

impl TokenFile {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is not a list of tokens that can be used.
    pub fn read(path: &Path) -> Result<Self, TokenFileError> {
        Self::parse(path, &contents(path)?)
    }

    /// Reads the contents of a file.
    pub(super) fn parse(path: &Path, json: &str) -> Result<Self, TokenFileError> {
        let list: TokenList = serde_json::from_str(json.strip_prefix('\u{feff}').unwrap_or(json))
            .map_err(|source| TokenFileError::Malformed {
            file: path.to_owned(),
            source,
        })?;
        let mut tokens = Self {
            path: path.to_owned(),
            list,
        };
        tokens.check()?;
        Ok(tokens)
    }

    /// Reads a file, or begins one if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read), but for a missing file.
    pub fn read_or_new(path: &Path) -> Result<Self, TokenFileError> {
        match Self::read(path) {
            Err(TokenFileError::Unreadable { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                Ok(Self {
                    path: path.to_owned(),
                    list: TokenList::default(),
                })
            }
            read => read,
        }
    }

    /// Waits until no other process changes the file, and keeps others from it until the result is
    /// dropped. The lock is a file beside it.
    ///
    /// # Errors
    ///
    /// If that file cannot be made or locked.
    pub fn lock(path: &Path) -> Result<File, TokenFileError> {
        let locked = atomic_replace::lock(path).and_then(|file| {
            file.lock()?;
            Ok(file)
        });
        locked.map_err(|source| TokenFileError::Unwritable {
            file: path.to_owned(),
            source,
        })
    }

    fn check(&mut self) -> Result<(), TokenFileError> {
        for index in 0..self.list.tokens.len() {
            let (before, rest) = self.list.tokens.split_at_mut(index);
            let entry = &mut rest[0];
            let is_twice = before.iter().any(|other| other.id == entry.id);
            let certificate = entry.certificate.as_deref().map(normalized_name);
            let is_same_certificate = certificate.is_some()
                && before
                    .iter()
                    .any(|other| other.certificate.as_deref().map(normalized_name) == certificate);
            let checked = match (is_twice, is_same_certificate) {
                (true, _) => Err("it is there twice: remove one".to_owned()),
                (_, true) => Err("another token has the same certificate: remove one".to_owned()),
                (false, false) => entry.check(),
            };
            checked.map_err(|cure| TokenFileError::BadToken {
                file: self.path.clone(),
                token: entry.id.clone(),
                cure,
            })?;
        }
        Ok(())
    }

    /// Returns the tokens, in their order.
    #[must_use]
    pub fn entries(&self) -> &[TokenEntry] {
        &self.list.tokens
    }

    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// If there is one with the same id or certificate.
    pub fn add(&mut self, entry: TokenEntry) -> Result<(), TokenFileError> {
        self.list.tokens.push(entry);
        self.check()
    }

    /// Removes a token. Returns whether it was there.
    pub fn remove(&mut self, id: &str) -> bool {
        let before = self.list.tokens.len();
        self.list.tokens.retain(|entry| entry.id != id);
        self.list.tokens.len() < before
    }

    /// Replaces the file as a whole. It stays as it is but for its contents; only its owner can use
    /// a new one.
    ///
    /// # Errors
    ///
    /// If it cannot be written. The message says so if it is replaced and only its folder cannot be
    /// synced.
    pub fn write(&self) -> Result<(), TokenFileError> {
        let written = serde_json::to_vec_pretty(&self.list)
            .map_err(io::Error::from)
            .and_then(|mut json| {
                json.push(b'\n');
                atomic_replace::replace(&self.path, &json)
            });
        written.map_err(|source| TokenFileError::Unwritable {
            file: self.path.clone(),
            source,
        })
    }
}

/// Returns the text of a file that only its owner can use.
pub(super) fn contents(path: &Path) -> Result<String, TokenFileError> {
    let unreadable = |source| TokenFileError::Unreadable {
        file: path.to_owned(),
        source,
    };
    let unusable = |why| TokenFileError::Unusable {
        file: path.to_owned(),
        why,
    };
    // Opening a pipe would wait for its writer.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(unusable("it is not a regular file: give one"));
    }
    let file = File::open(path).map_err(unreadable)?;
    check_mode(path, &file)?;
    let mut json = String::new();
    file.take(MOST + 1)
        .read_to_string(&mut json)
        .map_err(unreadable)?;
    match json.len() as u64 > MOST {
        true => Err(unusable("it is larger than 16 MiB: remove tokens from it")),
        false => Ok(json),
    }
}

#[cfg(unix)]
fn check_mode(path: &Path, file: &File) -> Result<(), TokenFileError> {
    use std::os::unix::fs::MetadataExt as _;

    let metadata = file
        .metadata()
        .map_err(|source| TokenFileError::Unreadable {
            file: path.to_owned(),
            source,
        })?;
    let mode = metadata.mode() & 0o777;
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(TokenFileError::Open {
            file: path.to_owned(),
            mode,
        }),
    }
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &File) -> Result<(), TokenFileError> {
    Ok(())
}

#[cfg(test)]
mod tests;
