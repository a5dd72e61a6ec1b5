//! Converts the configuration for the parts of a node.

#[cfg(feature = "etcd")]
use super::log::etcd::config::{ClientCertificate, EtcdConfig, EtcdCredentials, EtcdTls};
use super::{lease::LeaseTimes, link::tls::LinkTlsFiles, log::Member};
use hyper_delay_config::Cluster;

#[cfg(feature = "etcd")]
mod password;
#[cfg(feature = "etcd")]
pub use password::PasswordError;

/// Returns the node that this configuration is of, as other nodes see it.
#[must_use]
pub fn member(cluster: &Cluster) -> Member {
    Member {
        node: cluster.node.as_str().into(),
        address: cluster.advertise.as_str().into(),
    }
}

/// Returns the times of the lease of the node.
pub(crate) const fn lease_times(cluster: &Cluster) -> LeaseTimes {
    LeaseTimes::of(cluster.lease())
}

/// Returns the files of TLS between nodes. `None`: links are plain.
#[must_use]
pub fn link_files(cluster: &Cluster) -> Option<LinkTlsFiles> {
    let files = cluster.tls.as_ref()?;
    Some(LinkTlsFiles {
        cert: files.cert.clone(),
        key: files.key.clone(),
        ca: files.ca.clone(),
    })
}

/// Returns the configuration of the connections to etcd. Reads the file of the password.
///
/// # Errors
///
/// If that cannot be used.
#[cfg(feature = "etcd")]
pub fn etcd_config(cluster: &Cluster) -> Result<EtcdConfig, PasswordError> {
    let tls = cluster.etcd_tls.as_ref();
    let client = tls.and_then(|tls| tls.cert.clone().zip(tls.key.clone()));
    let user = cluster.etcd_user.as_ref().map(|user| {
        Ok(EtcdCredentials {
            name: user.name.clone(),
            password: password::read(&user.password_file)?,
        })
    });
    Ok(EtcdConfig {
        endpoints: cluster.etcd.clone(),
        tls: EtcdTls {
            ca: tls.and_then(|tls| tls.ca.clone()),
            client: client.map(|(cert, key)| ClientCertificate { cert, key }),
        },
        user: user.transpose()?,
        lease: cluster.lease(),
    })
}

#[cfg(test)]
mod tests {
    use std::{
        path::{Path, PathBuf},
        time::Duration,
    };

    use serde_json::json;

    use super::*;
    use hyper_delay_config::Config;

    fn cluster(password_file: &Path) -> Cluster {
        let json = json!({"cluster": {
            "etcd": ["https://a:2379", "https://b:2379"],
            "node": "n1",
            "advertise": "n1.internal:7002",
            "lease_ms": 800,
            "tls": {"cert": "c", "key": "k", "ca": "a"},
            "etcd_tls": {"ca": "ea", "cert": "ec", "key": "ek"},
            "etcd_user": {"name": "hd", "password_file": password_file},
        }});
        let config = Config::from_json("f", &json.to_string()).expect("it is valid");
        config.cluster.expect("it is given")
    }

    #[test]
    fn node_and_its_links_get_their_fields() {
        let cluster = cluster("password".as_ref());
        let member = member(&cluster);
        assert_eq!(
            (&*member.node, &*member.address),
            ("n1", "n1.internal:7002")
        );
        assert_eq!(lease_times(&cluster).ttl, Duration::from_millis(800));
        let files = link_files(&cluster).unwrap();
        assert_eq!(
            [files.cert, files.key, files.ca],
            ["c", "k", "a"].map(PathBuf::from)
        );
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn etcd_gets_its_fields() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "s3cret\n").unwrap();
        let etcd = etcd_config(&cluster(file.path())).unwrap();
        assert_eq!(etcd.endpoints, ["https://a:2379", "https://b:2379"]);
        assert_eq!(etcd.lease, Duration::from_millis(800));
        assert_eq!(etcd.tls.ca, Some("ea".into()));
        let client = etcd.tls.client.unwrap();
        assert_eq!([client.cert, client.key], ["ec", "ek"].map(PathBuf::from));
        let user = etcd.user.unwrap();
        assert_eq!((&*user.name, &*user.password), ("hd", "s3cret"));
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn a_missing_password_file_is_named() {
        let error = etcd_config(&cluster("/nowhere/password".as_ref())).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("/nowhere/password: cannot be read: "),
            "{error}"
        );
    }
}
