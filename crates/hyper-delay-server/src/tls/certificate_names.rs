use rustls::ServerConnection;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

/// Returns the names in the verified certificate of a client: its DNS names, in lower case, and its
/// URIs. Without any of these, its common name.
pub(crate) fn client_certificate_names(session: Option<&ServerConnection>) -> Vec<String> {
    let chain = session.and_then(|session| session.peer_certificates());
    chain
        .and_then(|chain| chain.first())
        .map_or_else(Vec::new, |leaf| names_of(leaf))
}

fn names_of(certificate: &[u8]) -> Vec<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else {
        return Vec::new();
    };
    let Ok(alternatives) = certificate.subject_alternative_name() else {
        return Vec::new();
    };
    let alternatives = alternatives.iter().flat_map(|it| &it.value.general_names);
    let names: Vec<String> = alternatives
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            GeneralName::URI(uri) => Some((*uri).to_owned()),
            _ => None,
        })
        .collect();
    if !names.is_empty() {
        return names;
    }
    let mut common = certificate.subject().iter_common_name();
    // Of several ones it is not clear which counts.
    let only = common.next().filter(|_| common.next().is_none());
    let only = only.and_then(|name| name.as_str().ok());
    only.map(str::to_owned).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateParams, DistinguishedName, DnType, KeyPair, SanType, string::Ia5String,
    };

    use super::client_certificate_names;

    fn names_of(alternatives: &[SanType], common: &[&str]) -> Vec<String> {
        let mut params = CertificateParams::default();
        params.subject_alt_names = alternatives.to_vec();
        params.distinguished_name = DistinguishedName::new();
        for name in common {
            params.distinguished_name.push(DnType::CommonName, *name);
        }
        let key = KeyPair::generate().unwrap();
        super::names_of(params.self_signed(&key).unwrap().der())
    }

    fn text(text: &str) -> Ia5String {
        text.try_into().unwrap()
    }

    #[test]
    fn common_name_counts_only_without_dns_names_and_uris() {
        let dns = SanType::DnsName(text("Billing.Internal"));
        let uri = SanType::URI(text("spiffe://prod/Billing"));
        let ip = SanType::IpAddress([127, 0, 0, 1].into());
        let both = [dns, ip.clone(), uri];
        assert_eq!(
            names_of(&both, &["admin"]),
            ["billing.internal", "spiffe://prod/Billing"]
        );
        assert_eq!(names_of(&[ip], &["Admin"]), ["Admin"]);
        assert_eq!(names_of(&[], &["admin"]), ["admin"]);
        assert_eq!(names_of(&[], &[]), [""; 0]);
    }

    #[test]
    fn damaged_certificate_has_no_names() {
        assert_eq!(super::names_of(b"certificate"), [""; 0]);
        assert!(client_certificate_names(None).is_empty());
    }
}
