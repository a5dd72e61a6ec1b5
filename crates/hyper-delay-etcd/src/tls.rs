use std::fmt;

use rustls::{
    RootCertStore,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::{Error, error::Source};

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

    /// Checks the certificates and the private key, but not whether they fit together.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(pem) = &self.ca {
            check_authorities(pem).map_err(unusable("the certificate of the authority"))?;
        }
        if let Some([cert, key]) = &self.identity {
            certificates(cert).map_err(unusable("the certificate of the client"))?;
            check_private_key(key).map_err(unusable("the private key of the client"))?;
        }
        Ok(())
    }

    /// Makes an endpoint use TLS.
    pub(crate) fn configure(&self, endpoint: Endpoint) -> Result<Endpoint, Error> {
        let config = ClientTlsConfig::new();
        let config = match &self.ca {
            Some(pem) => config.ca_certificate(Certificate::from_pem(pem)),
            None => config.with_enabled_roots(),
        };
        let config = match &self.identity {
            Some([cert, key]) => config.identity(Identity::from_pem(cert, key)),
            None => config,
        };
        // Without the brackets of an IPv6 address, which a certificate does not have.
        let host = endpoint.uri().host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let config = config.domain_name(host);
        let configured = endpoint.tls_config(config);
        configured.map_err(|error| unusable("the configuration of TLS")(error.into()))
    }
}

fn unusable(part: &'static str) -> impl FnOnce(Source) -> Error {
    move |source| Error::Tls { part, source }
}

/// Reads certificates, of which there must be one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Source> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>()?;
    match certificates.is_empty() {
        true => Err("there is no certificate in PEM".into()),
        false => Ok(certificates),
    }
}

/// One usable certificate is enough: bundles have some that rustls does not take.
fn check_authorities(pem: &[u8]) -> Result<(), Source> {
    let certificates = certificates(pem)?;
    match RootCertStore::empty().add_parsable_certificates(certificates) {
        (0, _) => Err("no certificate in it can be parsed".into()),
        _ => Ok(()),
    }
}

fn check_private_key(pem: &[u8]) -> Result<(), Source> {
    match PrivateKeyDer::from_pem_slice(pem) {
        Err(pem::Error::NoItemsFound) => Err("there is no private key in PEM".into()),
        read => Ok(read.map(drop)?),
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
    use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};

    use super::*;
    use crate::Options;

    /// Returns the message of the error, or nothing.
    fn refused(tls: &Tls) -> String {
        let checked = tls.check();
        checked.err().map_or(String::new(), |it| it.to_string())
    }

    fn certificate() -> (String, String) {
        let made = generate_simple_self_signed(["127.0.0.1".to_owned()]);
        let CertifiedKey { cert, signing_key } = made.unwrap();
        (cert.pem(), signing_key.serialize_pem())
    }

    const NO_DER: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

    #[test]
    fn authority_without_a_usable_certificate_is_an_error() {
        let (cert, key) = certificate();
        for pem in ["", "garbage", NO_DER, &key] {
            let error = refused(&Tls::new().ca(pem));
            let begin = "the certificate of the authority cannot be used: ";
            assert!(error.starts_with(begin), "{pem:?}: {error:?}");
        }
        assert_eq!(refused(&Tls::new().ca(&*cert)), "");
        assert_eq!(refused(&Tls::new().ca(format!("{NO_DER}{cert}"))), "");
    }

    #[test]
    fn identity_that_cannot_be_used_is_an_error() {
        let (cert, key) = certificate();
        let tls = || Tls::new().ca(&*cert);
        assert_eq!(refused(&tls().identity(&*cert, &*key)), "");
        for pem in ["", "garbage", &*key] {
            let error = refused(&tls().identity(pem, &*key));
            assert!(error.contains("the certificate of the client"), "{error:?}");
        }
        for pem in ["", "garbage", &*cert] {
            let error = refused(&tls().identity(&*cert, pem));
            assert!(error.contains("the private key of the client"), "{error:?}");
        }
    }

    #[test]
    fn each_kind_of_host_is_one_of_a_certificate() {
        let (cert, _) = certificate();
        let options = Options::new().tls(Tls::new().ca(&*cert));
        for host in [
            "127.0.0.1",
            "[::1]",
            "[fe80::1]",
            "etcd-1.example.com",
            "localhost",
        ] {
            for url in [format!("https://{host}:2379"), format!("https://{host}")] {
                assert!(options.check(&url).is_ok(), "{url}");
            }
        }
    }

    #[test]
    fn private_key_of_another_certificate_is_an_error() {
        let (cert, key) = certificate();
        let other = KeyPair::generate().unwrap().serialize_pem();
        let endpoint = Endpoint::from_static("https://127.0.0.1:2379");
        let configured = |key| {
            let tls = Tls::new().ca(&*cert).identity(&*cert, key);
            tls.configure(endpoint.clone())
        };
        assert!(configured(key).is_ok());
        let error = configured(other).unwrap_err().to_string();
        assert!(error.starts_with("the configuration of TLS"), "{error}");
    }
}
