use crate::secret::Secret;

/// A token as a client has sent it, well-formed or not. Shows its id only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential(Option<Secret>);

impl Credential {
    /// Reads a text, which need not be a token.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Secret::parse(text))
    }

    /// Returns the secret. `None` if the text cannot be one.
    #[must_use]
    pub const fn secret(&self) -> Option<&Secret> {
        self.0.as_ref()
    }
}
