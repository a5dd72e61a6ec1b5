use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use jiff::Timestamp;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::tls::validity";

/// A certificate is to be renewed when it expires within this time, in seconds.
const SOON: i64 = 14 * 24 * 60 * 60;

/// When clients accept the certificate of the server, in Unix seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    from: i64,
    /// The last second.
    until: i64,
    /// Whether it is the certificate of an authority.
    is_authority: bool,
}

/// The reason why clients refuse a certificate, or soon will.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CertificateProblem {
    #[error("the certificate in tls.cert expired at {0}: clients refuse it; renew it")]
    Expired(Timestamp),
    #[error(
        "the certificate in tls.cert is not valid before {0}: clients refuse it until then; set the \
         clock, or wait"
    )]
    Early(Timestamp),
    #[error(
        "the certificate in tls.cert is that of an authority (CA:TRUE): many clients refuse it for a \
         server; make one with CA:FALSE"
    )]
    Authority,
    #[error("the certificate in tls.cert expires at {0}, in less than 14 days: renew it")]
    Soon(Timestamp),
}

impl Validity {
    /// Reads the validity of a certificate. `None` if it cannot be read.
    pub(super) fn of(certificate: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let validity = certificate.validity();
        Some(Self {
            from: validity.not_before.timestamp(),
            until: validity.not_after.timestamp(),
            is_authority: certificate.is_ca(),
        })
    }

    /// Whether it is the certificate of an authority.
    pub(super) const fn is_authority(self) -> bool {
        self.is_authority
    }

    /// When the certificate expires.
    pub(crate) const fn until(self) -> i64 {
        self.until
    }

    /// Returns the problem of the certificate now, if it has one.
    pub(crate) fn problem(self) -> Option<CertificateProblem> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.problem_at(i64::try_from(now.unwrap_or_default().as_secs()).unwrap_or(i64::MAX))
    }

    fn problem_at(self, now: i64) -> Option<CertificateProblem> {
        let time = |second| Timestamp::from_second(second).unwrap_or(Timestamp::MAX);
        if now > self.until {
            Some(CertificateProblem::Expired(time(self.until)))
        } else if now < self.from {
            Some(CertificateProblem::Early(time(self.from)))
        } else if self.until - now < SOON {
            Some(CertificateProblem::Soon(time(self.until)))
        } else if self.is_authority {
            Some(CertificateProblem::Authority)
        } else {
            None
        }
    }

    /// Logs the problem of the certificate in this file, if it has one.
    pub(crate) fn warn(self, file: &Path) {
        if let Some(problem) = self.problem() {
            tracing::warn!(target: TARGET, file = %file.display(), "{problem}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_to_be_renewed_two_weeks_before_its_end() {
        let day = 24 * 60 * 60;
        let validity = Validity {
            from: 10 * day,
            until: 100 * day,
            is_authority: false,
        };
        let at = |second| Timestamp::from_second(second).unwrap();
        let early = Some(CertificateProblem::Early(at(10 * day)));
        let soon = Some(CertificateProblem::Soon(at(100 * day)));
        let expired = Some(CertificateProblem::Expired(at(100 * day)));
        assert_eq!(validity.problem_at(10 * day - 1), early);
        assert_eq!(validity.problem_at(10 * day), None);
        assert_eq!(validity.problem_at(86 * day), None);
        assert_eq!(validity.problem_at(86 * day + 1), soon);
        assert_eq!(validity.problem_at(100 * day), soon);
        assert_eq!(validity.problem_at(100 * day + 1), expired);
        let of_authority = Validity {
            is_authority: true,
            ..validity
        };
        assert_eq!(
            of_authority.problem_at(10 * day),
            Some(CertificateProblem::Authority)
        );
    }

    #[test]
    fn the_validity_is_read_from_the_certificate() {
        let mut params = rcgen::CertificateParams::default();
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let expected = Validity {
            from: 946_684_800,
            until: 978_307_200,
            is_authority: false,
        };
        assert_eq!(Validity::of(certificate.der()), Some(expected));
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        assert!(Validity::of(certificate.der()).unwrap().is_authority);
        assert_eq!(Validity::of(b"certificate"), None);
    }
}
