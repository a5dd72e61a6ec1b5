//! The configuration of the connections to etcd.

use std::{fmt, fs, path::PathBuf, time::Duration};

use hyper_delay_etcd::{Error, Options, Tls};

/// The configuration of the connections to etcd.
#[derive(Debug, Clone)]
pub struct EtcdConfig {
    /// The members of the etcd cluster: URLs with `http` or `https`, such as
    /// `http://10.0.0.1:2379`.
    pub endpoints: Vec<String>,
    /// The files of TLS, for URLs with `https`.
    pub tls: EtcdTls,
    /// The credentials of the server, if etcd requires users.
    pub user: Option<EtcdCredentials>,
    /// The lease of a node lasts this long. A call is given up after a quarter of it.
    pub lease: Duration,
}

/// The files of TLS, in PEM.
#[derive(Debug, Clone, Default)]
pub struct EtcdTls {
    /// The authorities of etcd's certificates. Default: those of the system.
    pub ca: Option<PathBuf>,
    /// The certificate with which the server shows who it is.
    pub client: Option<ClientCertificate>,
}

/// A certificate and its private key, in PEM.
#[derive(Debug, Clone)]
pub struct ClientCertificate {
    /// The certificate, then those of its authorities.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// A user of etcd.
#[derive(Clone)]
pub struct EtcdCredentials {
    /// The name.
    pub name: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for EtcdCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut user = f.debug_struct("EtcdCredentials");
        user.field("name", &self.name).finish_non_exhaustive()
    }
}

/// The configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EtcdConfigError {
    /// No endpoint is given.
    #[error("there is no etcd endpoint: give the URLs of its members")]
    NoEndpoint,
    /// An endpoint is not a URL.
    #[error("{0:?} is not an etcd endpoint: give a URL such as \"http://10.0.0.1:2379\"")]
    Endpoint(String),
    /// Files of TLS are given, and an endpoint does not use it.
    #[error("there are files for TLS, and {0} does not use it: begin the URL with https://")]
    NotTls(String),
    /// The files of TLS cannot be used.
    #[error("etcd_tls in `cluster`: {0}")]
    Tls(#[source] Error),
    /// A file cannot be read.
    #[error(
        "etcd_tls in `cluster`: {} cannot be read: {source}; give a file in PEM that the user of the \
         server may read",
        file.display()
    )]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl EtcdConfig {
    /// Returns the options of a connection to each endpoint. Reads the files of TLS.
    ///
    /// # Errors
    ///
    /// If the configuration cannot be used.
    pub fn connections(&self) -> Result<Vec<(String, Options)>, EtcdConfigError> {
        if self.endpoints.is_empty() {
            return Err(EtcdConfigError::NoEndpoint);
        }
        let mut options = Options::new().connect_timeout(self.lease / 4);
        if let Some(user) = &self.user {
            options = options.user(&user.name, &user.password);
        }
        let options = options.tls(self.files()?);
        let has_files = self.tls.ca.is_some() || self.tls.client.is_some();
        let connection = |endpoint: &String| {
            options.check(endpoint).map_err(|error| match error {
                Error::Url { url, .. } => EtcdConfigError::Endpoint(url),
                error => EtcdConfigError::Tls(error),
            })?;
            let uses_tls = endpoint.to_ascii_lowercase().starts_with("https:");
            if has_files && !uses_tls {
                return Err(EtcdConfigError::NotTls(endpoint.clone()));
            }
            Ok((endpoint.clone(), options.clone()))
        };
        self.endpoints.iter().map(connection).collect()
    }

    /// Reads the files of TLS.
    fn files(&self) -> Result<Tls, EtcdConfigError> {
        let read = |file: &PathBuf| {
            fs::read(file).map_err(|source| EtcdConfigError::File {
                file: file.clone(),
                source,
            })
        };
        let mut tls = Tls::new();
        if let Some(ca) = &self.tls.ca {
            tls = tls.ca(read(ca)?);
        }
        if let Some(client) = &self.tls.client {
            tls = tls.identity(read(&client.cert)?, read(&client.key)?);
        }
        Ok(tls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(endpoints: &[&str], ca: Option<&str>) -> EtcdConfig {
        EtcdConfig {
            endpoints: endpoints.iter().map(|&it| it.to_owned()).collect(),
            tls: EtcdTls {
                ca: ca.map(PathBuf::from),
                client: None,
            },
            user: None,
            lease: Duration::from_secs(2),
        }
    }

    #[test]
    fn an_endpoint_is_a_url_with_http_or_https() {
        let urls = [
            "http://10.0.0.1:2379",
            "https://etcd.example",
            "http://[::1]:2379/",
        ];
        assert_eq!(config(&urls, None).connections().unwrap().len(), 3);
        for wrong in [
            "10.0.0.1:2379",
            "ftp://a",
            "",
            "http://",
            "http://a/b",
            "/a",
            "http://127.0.0.1:99999",
            "http://127.0.0.1:",
        ] {
            let error = config(&["http://a", wrong], None)
                .connections()
                .unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "{wrong:?} is not an etcd endpoint: give a URL such as \"http://10.0.0.1:2379\""
                )
            );
        }
        let error = config(&[], None).connections().unwrap_err();
        assert!(matches!(error, EtcdConfigError::NoEndpoint));
    }

    #[test]
    fn files_for_tls_need_https() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let made = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
        fs::write(file.path(), made.cert.pem()).unwrap();
        let ca = file.path().to_str().unwrap();
        assert!(config(&["https://a"], Some(ca)).connections().is_ok());
        let error = config(&["https://a", "http://b"], Some(ca)).connections();
        assert_eq!(
            error.unwrap_err().to_string(),
            "there are files for TLS, and http://b does not use it: begin the URL with https://"
        );
    }

    #[test]
    fn file_without_a_certificate_is_an_error() {
        let ca = tempfile::NamedTempFile::new().unwrap();
        let ca = ca.path().to_str().unwrap();
        let error = config(&["https://a"], Some(ca)).connections();
        assert_eq!(
            error.unwrap_err().to_string(),
            "etcd_tls in `cluster`: the certificate of the authority cannot be used: there is no \
             certificate in PEM"
        );
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = config(&["https://a"], Some("/nowhere/ca.pem")).connections();
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("/nowhere/ca.pem cannot be read: "),
            "{error}"
        );
    }

    #[test]
    fn a_password_is_not_shown() {
        let mut config = config(&["http://a"], None);
        config.user = Some(EtcdCredentials {
            name: "hd".into(),
            password: "s3cret".into(),
        });
        let shown = format!("{config:?}");
        assert!(shown.contains("hd") && !shown.contains("s3cret"), "{shown}");
    }
}
