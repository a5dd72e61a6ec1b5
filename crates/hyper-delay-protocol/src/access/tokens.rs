use std::{borrow::Cow, collections::HashMap, path::Path, sync::Arc};

use xxhash_rust::xxh3::xxh3_128;

use super::{
    Grant, TokenFileError,
    grant::Proof,
    token_entry::TokenEntry,
    token_file::{self, TokenFile},
};
use crate::secret::Secret;

/// The tokens of a server, and the certificates that have rights. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Arc<TokenTable>);

#[derive(Debug, Default)]
struct TokenTable {
    grants: HashMap<String, Arc<Grant>>,
    /// The ids of grants by the name of a certificate, as [`normalized_name`] returns it.
    certificates: HashMap<String, String>,
}

/// Identifies the contents of a file of tokens, or the error on which reading them failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenStamp(u128);

type LoadedTokens = (Result<Option<Tokens>, TokenFileError>, Option<TokenStamp>);

impl Tokens {
    /// Reads the file of tokens.
    ///
    /// # Errors
    ///
    /// If it cannot be read, others than its owner can read it, or an entry is invalid.
    pub fn read(file: &Path) -> Result<Self, TokenFileError> {
        TokenFile::read(file).map(|file| Self::of(file.entries()))
    }

    /// Reads the contents of a file of tokens, whose name is for errors.
    ///
    /// # Errors
    ///
    /// If it is not a list of tokens, or an entry is invalid.
    pub fn from_json(file: &Path, json: &str) -> Result<Self, TokenFileError> {
        TokenFile::parse(file, json).map(|file| Self::of(file.entries()))
    }

    /// Reads the file, if there is one. Also returns what identifies its contents, valid or not.
    #[doc(hidden)]
    pub fn load(file: Option<&Path>) -> LoadedTokens {
        let Some(file) = file else {
            return (Ok(None), None);
        };
        match token_file::contents(file) {
            Ok(json) => {
                let stamp = TokenStamp(xxh3_128(json.as_bytes()));
                (Self::from_json(file, &json).map(Some), Some(stamp))
            }
            Err(error) => {
                let stamp = TokenStamp(xxh3_128(error.to_string().as_bytes()));
                (Err(error), Some(stamp))
            }
        }
    }

    pub(super) fn of(entries: &[TokenEntry]) -> Self {
        let mut tokens = TokenTable::default();
        for grant in entries.iter().map(TokenEntry::grant) {
            if let Proof::Certificate(name) = &grant.proof {
                let name = normalized_name(name).into_owned();
                tokens.certificates.insert(name, grant.id.clone());
            }
            tokens.grants.insert(grant.id.clone(), Arc::new(grant));
        }
        Self(Arc::new(tokens))
    }

    /// Returns the grant of the holder of a secret. `None` if it is not the secret of a token.
    #[must_use]
    pub fn grant(&self, secret: &Secret) -> Option<Arc<Grant>> {
        let grant = self.0.grants.get(secret.id())?;
        match &grant.proof {
            Proof::Token(hash) => (*hash == secret.hash()).then(|| grant.clone()),
            Proof::Certificate(_) => None,
            Proof::Elsewhere => None,
        }
    }

    /// Returns the grant of the holder of a certificate with these names: that of the first name
    /// that is in the file. `None` if there is none. The case of letters counts in URIs only.
    #[must_use]
    pub fn grant_of_certificate(&self, names: &[String]) -> Option<Arc<Grant>> {
        let mut names = names.iter().map(String::as_str).map(normalized_name);
        let id = names.find_map(|name| self.0.certificates.get(&*name));
        self.0.grants.get(id?).cloned()
    }

    /// Returns whether a grant that was given before still holds, unchanged.
    #[must_use]
    pub fn still_give(&self, grant: &Grant) -> bool {
        let now = self.0.grants.get(&grant.id);
        now.is_some_and(|now| **now == *grant)
    }

    /// Returns the number of tokens and certificates.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.grants.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.grants.is_empty()
    }
}

/// Returns the name of a certificate as it is compared. A URI, which has a colon, is not changed;
/// DNS names and common names are converted to lower case.
pub(super) fn normalized_name(name: &str) -> Cow<'_, str> {
    match name.contains(':') {
        true => name.into(),
        false => name.to_ascii_lowercase().into(),
    }
}
