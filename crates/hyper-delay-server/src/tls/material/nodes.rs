use super::*;
use rustls::{
    ClientConfig,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier as _},
    pki_types::{ServerName, UnixTime},
};

/// The name of the protocol between nodes. Clients of the server offer another one.
const LINK: &[u8] = b"hyper-delay-link";

/// The certificate of a node, which others check.
#[derive(Debug)]
pub struct OwnCertificate {
    chain: Vec<CertificateDer<'static>>,
    authorities: Arc<RootCertStore>,
}

impl OwnCertificate {
    /// Returns why nodes that trust the same authorities refuse it: as that of a server with this
    /// name, or as that of a client.
    #[must_use]
    pub fn refused(&self, name: &ServerName<'_>) -> Option<String> {
        let (leaf, others) = self.chain.split_first()?;
        let (provider, now) = (Arc::new(ring::default_provider()), UnixTime::now());
        let roots = || self.authorities.clone();
        let server = WebPkiServerVerifier::builder_with_provider(roots(), provider.clone()).build();
        let client = WebPkiClientVerifier::builder_with_provider(roots(), provider).build();
        let (server, client) = (server.ok()?, client.ok()?);
        let as_server = server.verify_server_cert(leaf, others, name, &[], now);
        let as_client = client.verify_client_cert(leaf, others, now);
        let error = as_server.err().or(as_client.err());
        error.map(|error| error.to_string())
    }
}

impl Material<'_> {
    /// Returns both sides of a link, and the certificate of the node, if all files are valid and
    /// belong together.
    pub(in crate::tls) fn into_link_tls(
        mut self,
    ) -> Result<(ServerConfig, ClientConfig, OwnCertificate), TlsError> {
        self.fields = FieldNames::OF_NODES;
        let (files, fields) = (self.files, self.fields);
        let copied = |bytes: &io::Result<Vec<u8>>| bytes.as_deref().map(<[u8]>::to_vec).ok();
        let (cert, key) = (copied(&self.cert), copied(&self.key));
        let ca = self.client_ca.as_ref().and_then(copied);
        let accepting = self.into_server_tls()?;
        if accepting.validity.is_some_and(Validity::is_authority) {
            let why = "whose first certificate is that of an authority (CA:TRUE), which other nodes \
                       refuse: give one with CA:FALSE that `ca` has signed";
            return Err(unusable(fields.cert, &files.cert, why));
        }
        let mut server = ServerConfig::clone(&accepting.config);
        server.alpn_protocols = vec![LINK.to_vec()];
        // All of them were read and used.
        let parts = cert.zip(key).zip(ca.zip(files.client_ca.as_deref()));
        let ((cert, key), (ca, ca_file)) = parts.expect("a node has all files");
        let mut roots = RootCertStore::empty();
        for authority in certificates(fields.ca, ca_file, Ok(ca))? {
            let added = roots.add(authority);
            added.expect("the server has the same authorities");
        }
        let authorities = Arc::new(roots);
        let chain = certificates(fields.cert, &files.cert, Ok(cert))?;
        let own = OwnCertificate {
            chain: chain.clone(),
            authorities: authorities.clone(),
        };
        let key = private_key(fields.key, &files.key, Ok(key))?;
        let mut client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has cipher suites for all versions")
            .with_root_certificates(authorities)
            .with_client_auth_cert(chain, key)
            .map_err(|error| key_error(fields, files, &error))?;
        client.alpn_protocols = vec![LINK.to_vec()];
        Ok((server, client, own))
    }
}
