//! Certificates that live as long as a test.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, UNIX_EPOCH},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::pki_types::CertificateDer;

/// A certificate authority.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key.
pub(crate) struct Identity {
    /// In PEM.
    pub(crate) cert: String,
    /// In PEM.
    pub(crate) key: String,
    pub(crate) der: CertificateDer<'static>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, format!("authority {number}"));
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// Issues a certificate for this machine.
    pub(crate) fn issue(&self) -> Identity {
        self.issue_until(4000)
    }

    /// Issues a certificate that ended long ago.
    pub(crate) fn issue_expired(&self) -> Identity {
        self.issue_until(2001)
    }

    /// Issues a certificate for this machine that is one of an authority.
    pub(crate) fn issue_authority(&self) -> Identity {
        self.issue_in(&["127.0.0.1"], |params| {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        })
    }

    /// Issues a certificate with this name.
    pub(crate) fn issue_to(&self, name: &str) -> Identity {
        self.issue_with(&[name], 4000)
    }

    pub(crate) fn issue_until(&self, year: i32) -> Identity {
        self.issue_with(&["127.0.0.1", "localhost"], year)
    }

    /// Issues a certificate that is valid from the first to the second number of days after today.
    pub(crate) fn issue_between(&self, from: i64, until: i64) -> Identity {
        let now = UNIX_EPOCH.elapsed().unwrap().as_secs().cast_signed();
        let after = |days: i64| {
            let second = now + days * 24 * 60 * 60;
            date_time_ymd(1970, 1, 1) + Duration::from_secs(second.cast_unsigned())
        };
        self.issue_in(&["127.0.0.1"], |params| {
            (params.not_before, params.not_after) = (after(from), after(until));
        })
    }

    fn issue_with(&self, names: &[&str], year: i32) -> Identity {
        self.issue_in(names, |params| {
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(year, 1, 1);
        })
    }

    fn issue_in(&self, names: &[&str], limit: impl FnOnce(&mut CertificateParams)) -> Identity {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        limit(&mut params);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.0).unwrap();
        Identity {
            cert: cert.pem(),
            key: key.serialize_pem(),
            der: cert.der().clone(),
        }
    }
}
