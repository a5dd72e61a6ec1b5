use std::time::Duration;

use tonic::transport::Endpoint;

use crate::{Error, Tls, auth::User, url};

/// How a [`Client`](crate::Client) connects.
#[derive(Debug, Clone, Default)]
pub struct Options {
    connect_timeout: Option<Duration>,
    tls: Tls,
    pub(crate) user: Option<User>,
}

impl Options {
    /// No user, the authorities of the system for `https`, and no limit on the time to connect but
    /// that of the operating system.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives up a TCP connection that takes longer to be made.
    #[must_use]
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// Certificates, for URLs that begin with `https://`.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// Authenticates as this user of etcd.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.user = Some(User::new(name.into(), password.into()));
        self
    }

    /// Checks the URL of a member and, if it is `https`, the certificates of these options, without
    /// a connection.
    ///
    /// # Errors
    ///
    /// If the URL, a certificate or a private key cannot be used.
    pub fn check(&self, url: &str) -> Result<(), Error> {
        self.endpoint(url).map(drop)
    }

    pub(crate) fn endpoint(&self, url: &str) -> Result<Endpoint, Error> {
        let url = url::parse(url)?;
        let uses_tls = url.scheme_str() == Some("https");
        let mut endpoint = Endpoint::from(url);
        if uses_tls {
            self.tls.check()?;
            endpoint = self.tls.configure(endpoint)?;
        }
        Ok(match self.connect_timeout {
            Some(timeout) => endpoint.connect_timeout(timeout),
            None => endpoint,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_has_no_secret() {
        let tls = Tls::new().identity("cert", "s3cret");
        let options = Options::new().tls(tls).user("hd", "s3cret");
        let shown = format!("{options:?}");
        assert!(shown.contains("hd") && !shown.contains("s3cret"), "{shown}");
    }
}
