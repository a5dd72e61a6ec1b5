use std::{fmt, time::Duration};

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::{Error, auth::User};

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

    pub(crate) fn endpoint(&self, url: &str) -> Result<Endpoint, Error> {
        let mut endpoint = Endpoint::from_shared(url.to_owned())?;
        if endpoint.uri().scheme_str() == Some("https") {
            endpoint = endpoint.tls_config(self.tls.config())?;
        }
        Ok(match self.connect_timeout {
            Some(timeout) => endpoint.connect_timeout(timeout),
            None => endpoint,
        })
    }
}

/// Certificates, in PEM.
#[derive(Clone, Default)]
pub struct Tls {
    ca: Option<Vec<u8>>,
    identity: Option<[Vec<u8>; 2]>,
}

impl Tls {
    /// The authorities of the system, and no certificate of the client.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The authorities that etcd's certificate is checked against. Default: those of the system.
    #[must_use]
    pub fn ca(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca = Some(pem.into());
        self
    }

    /// The certificate of the client, followed by those of its authorities, and its private key.
    /// Default: none.
    #[must_use]
    pub fn identity(mut self, cert: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.identity = Some([cert.into(), key.into()]);
        self
    }

    fn config(&self) -> ClientTlsConfig {
        let config = ClientTlsConfig::new();
        let config = match &self.ca {
            Some(pem) => config.ca_certificate(Certificate::from_pem(pem)),
            None => config.with_enabled_roots(),
        };
        match &self.identity {
            Some([cert, key]) => config.identity(Identity::from_pem(cert, key)),
            None => config,
        }
    }
}

impl fmt::Debug for Tls {
    /// The private key is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tls = f.debug_struct("Tls");
        tls.field("has_ca", &self.ca.is_some());
        tls.field("has_identity", &self.identity.is_some()).finish()
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
