use std::{fmt, sync::Arc};

/// The name of a host or a service, in the form in which names are compared: ASCII letters are
/// small, and there is no dot at the end. The root, `.`, is empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// Creates a name. It is not checked: a resolver answers for one that cannot exist.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let name = name.strip_suffix('.').unwrap_or(name);
        Self(name.to_ascii_lowercase().into())
    }

    /// Returns the name without a dot at the end. That of the root is empty.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the root, which a record writes as `.`.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}
