//! TLS, and users.

use std::{net::IpAddr, path::Path};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::process::Processes;
use crate::log::{
    Log, LogRequest,
    contract::{self, LogClient},
    etcd::{
        Etcd,
        config::{ClientCertificate, EtcdCredentials, EtcdTls},
    },
};

/// Writes a certificate for this host and its key, signed by an authority.
fn write(
    folder: &Path,
    name: &str,
    host: IpAddr,
    ca: &CertifiedIssuer<'_, KeyPair>,
) -> ClientCertificate {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([host.to_string()]).unwrap();
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, name);
    let cert = params.signed_by(&key, ca).unwrap();
    let files = ClientCertificate {
        cert: folder.join(format!("{name}.pem")),
        key: folder.join(format!("{name}.key")),
    };
    std::fs::write(&files.cert, cert.pem()).unwrap();
    std::fs::write(&files.key, key.serialize_pem()).unwrap();
    files
}

#[tokio::test]
async fn etcd_is_reached_with_tls_and_a_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, ca.pem()).unwrap();
    let address = testkit::loopback();
    let server = write(folder.path(), "server", address.ip(), &ca);
    let client = write(folder.path(), "client", address.ip(), &ca);
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let arguments = [
        format!("--cert-file={}", path(&server.cert)),
        format!("--key-file={}", path(&server.key)),
        format!("--trusted-ca-file={}", path(&ca_file)),
        "--client-cert-auth".to_owned(),
    ];
    let arguments = arguments.each_ref().map(|it| &**it);
    let Some(etcd) = Processes::with_tls(address, &arguments) else {
        return;
    };
    let mut config = etcd.config();
    config.tls = EtcdTls {
        ca: Some(ca_file.clone()),
        client: Some(client),
    };
    let log = Etcd::new(&config).unwrap();
    etcd.answers(&log).await;
    contract::entry_is_appended_in_its_place_only(&log).await;

    config.tls.client = None;
    let log = Etcd::new(&config).unwrap();
    log.call(LogRequest::Charter).await.unwrap_err();
    config.tls = EtcdTls::default();
    let log = Etcd::new(&config).unwrap();
    log.call(LogRequest::Charter).await.unwrap_err();
}

#[tokio::test]
async fn etcd_is_reached_as_a_user_with_rights_on_its_keys_only() {
    let Some(mut etcd) = Processes::one() else {
        return;
    };
    etcd.require_users("hd", "p");

    let mut config = etcd.config();
    let refused = Etcd::new(&config).unwrap().call(LogRequest::Charter).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("user name is empty"), "{refused}");
    config.user = Some(EtcdCredentials {
        name: "hd".into(),
        password: "wrong".into(),
    });
    let refused = Etcd::new(&config).unwrap().call(LogRequest::Charter).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("invalid user ID or password"), "{refused}");

    config.user = Some(EtcdCredentials {
        name: "hd".into(),
        password: "p".into(),
    });
    let log = Etcd::new(&config).unwrap();
    contract::tell_entries(&log).await;
    let b = LogClient::announced(&log, "b").await;
    b.join().await;
    assert!(b.keep_alive().await && b.report(1).await);
    b.remove("b").await;
    assert_eq!(b.members().await, []);
    // It knows the tokens no more that it has given.
    etcd.kill(0);
    etcd.restart(0);
    etcd.answers(&log).await;
    assert_eq!(b.members().await, []);
}
