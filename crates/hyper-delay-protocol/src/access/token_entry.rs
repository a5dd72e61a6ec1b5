use serde::{Deserialize, Serialize};

use super::{Grant, Right, Routes, grant::Proof};
use crate::secret::{Secret, SecretHash};

/// A token in the file, or the name of a certificate.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    pub(super) id: String,
    pub(super) name: String,
    /// Of the secret, if its holder shows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
    /// The name in a certificate, if its holder shows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) certificate: Option<String>,
    pub(super) rights: Vec<Right>,
    pub(super) routes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) schedules_per_second: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pending: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pending_bytes: Option<u64>,
    #[serde(skip)]
    pub(super) parsed: Option<ParsedEntry>,
}

/// The parsed texts of an entry.
#[derive(Debug, Clone)]
pub(super) struct ParsedEntry {
    proof: Proof,
    routes: Routes,
}

/// The longest name of a token, in bytes.
const LONGEST_NAME: usize = 64;

/// The longest name of a certificate, in bytes: that of a DNS name.
const LONGEST_CERTIFICATE: usize = 253;

impl TokenEntry {
    /// Makes a token, and the secret of its holder.
    ///
    /// # Errors
    ///
    /// The cure, if a value is invalid.
    pub fn new(
        name: String,
        rights: Vec<Right>,
        routes: Vec<String>,
    ) -> Result<(Self, Secret), String> {
        let secret =
            Secret::random().map_err(|error| format!("no random bytes are available: {error}"))?;
        let mut entry = Self {
            id: secret.id().to_owned(),
            name,
            sha256: Some(secret.hash().to_hex()),
            certificate: None,
            rights,
            routes,
            schedules_per_second: None,
            pending: None,
            pending_bytes: None,
            parsed: None,
        };
        entry.check()?;
        Ok((entry, secret))
    }

    /// Makes an entry for the holder of a certificate with this name.
    ///
    /// # Errors
    ///
    /// The cure, if a value is invalid.
    pub fn of_certificate(
        certificate: String,
        name: String,
        rights: Vec<Right>,
        routes: Vec<String>,
    ) -> Result<Self, String> {
        let (entry, _unused) = Self::new(name, rights, routes)?;
        let mut entry = Self {
            sha256: None,
            certificate: Some(certificate),
            ..entry
        };
        entry.check()?;
        Ok(entry)
    }

    /// Reads the texts.
    ///
    /// # Errors
    ///
    /// The fault and the cure.
    pub(super) fn check(&mut self) -> Result<(), String> {
        let is_id = self.id.len() == 12
            && self
                .id
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_id {
            return Err(
                "its id is not 12 hexadecimal digits: make tokens with `hyper-delay token new`"
                    .to_owned(),
            );
        }
        if !(1..=LONGEST_NAME).contains(&self.name.len()) || self.name.chars().any(char::is_control)
        {
            return Err(format!(
                "its name is {:?}: give 1 to {LONGEST_NAME} bytes without control characters",
                self.name
            ));
        }
        if self.rights.is_empty() {
            let names = Right::ALL.map(Right::as_str).join(", ");
            return Err(format!("it has no rights: give one or more of {names}"));
        }
        if self.schedules_per_second == Some(0) {
            return Err("its schedules_per_second is 0: give 1 or more, or no number".to_owned());
        }
        let proof = match (&self.sha256, &self.certificate) {
            (Some(sha256), None) => Proof::Token(SecretHash::from_hex(sha256).ok_or(
                "its sha256 is not 64 hexadecimal digits: make tokens with `hyper-delay token new`",
            )?),
            (None, Some(name)) => {
                let is_name = (1..=LONGEST_CERTIFICATE).contains(&name.len())
                    && !name.chars().any(char::is_control);
                if !is_name {
                    return Err(format!(
                        "its certificate is {name:?}: give a name of 1 to {LONGEST_CERTIFICATE} bytes"
                    ));
                }
                Proof::Certificate(name.clone())
            }
            _ => return Err("give it either a sha256 or a certificate".to_owned()),
        };
        let routes = Routes::new(self.routes.clone())
            .map_err(|cure| format!("its routes are {:?}: {cure}", self.routes))?;
        self.parsed = Some(ParsedEntry { proof, routes });
        Ok(())
    }

    fn parsed(&self) -> &ParsedEntry {
        self.parsed
            .as_ref()
            .expect("entries are checked when they are made or read")
    }

    /// Limits the schedules per second.
    #[must_use]
    pub const fn with_rate(mut self, schedules_per_second: Option<u32>) -> Self {
        self.schedules_per_second = schedules_per_second;
        self
    }

    /// Limits the pending tasks on its routes, and the bytes of their payloads.
    #[must_use]
    pub const fn with_pending(mut self, tasks: Option<u64>, bytes: Option<u64>) -> Self {
        self.pending = tasks;
        self.pending_bytes = bytes;
        self
    }

    /// Returns the name of the certificate that its holder shows.
    #[must_use]
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Returns the grant of the token.
    #[must_use]
    pub fn grant(&self) -> Grant {
        Grant {
            id: self.id.clone(),
            name: self.name.clone(),
            rights: self.rights.clone(),
            routes: self.parsed().routes.clone(),
            schedules_per_second: self.schedules_per_second,
            pending: self.pending,
            pending_bytes: self.pending_bytes,
            proof: self.parsed().proof.clone(),
        }
    }
}
