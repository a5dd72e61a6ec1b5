//! Checks that an address which other machines reach is protected.

use std::net::SocketAddr;

use super::Config;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::config::exposure";

/// The reason why a server may not listen on its address. The message is the cure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Exposed {
    /// Other machines can reach it, and nothing says who may use it.
    #[error(
        "other machines can reach it, and neither tokens nor tls.client_ca say who may use it: set \
         tokens and tls, or tls.client_ca, or a loopback address such as 127.0.0.1:7000, or \"open\": \
         true to let in every host of allowed_hosts"
    )]
    Unprotected,
    /// Its tokens would cross the network unencrypted.
    #[error(
        "tokens would cross the network unencrypted: set tls, or a loopback address such as \
         127.0.0.1:7000"
    )]
    PlainTokens,
}

/// The clients that a server accepts on its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Programs on its machine, or clients that show who they are.
    Protected,
    /// Every host of `allowed_hosts`, because `open` is set.
    Open,
}

impl Config {
    /// Returns who can use a server that listens on `address`.
    ///
    /// # Errors
    ///
    /// If it may not listen there.
    #[doc(hidden)]
    pub fn exposure(&self, address: SocketAddr) -> Result<Exposure, Exposed> {
        let is_local = address.ip().to_canonical().is_loopback();
        let has_client_ca = self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        match (is_local, self.tokens.is_some()) {
            (true, _) => Ok(Exposure::Protected),
            (false, true) if self.tls.is_none() => Err(Exposed::PlainTokens),
            (false, true) => Ok(Exposure::Protected),
            (false, false) if has_client_ca => Ok(Exposure::Protected),
            (false, false) if self.open => Ok(Exposure::Open),
            (false, false) => Err(Exposed::Unprotected),
        }
    }
}

impl Exposure {
    /// Logs a warning if every client is let in.
    pub fn warn(self, address: SocketAddr) {
        if self == Self::Open {
            tracing::warn!(
                target: TARGET,
                %address,
                "open: every host of allowed_hosts may do everything; set tokens and tls, or \
                 tls.client_ca",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TlsFiles;

    fn config(tokens: bool, tls: bool, client_ca: bool, open: bool) -> Config {
        let files = TlsFiles {
            cert: "cert".into(),
            key: "key".into(),
            client_ca: client_ca.then(|| "ca".into()),
        };
        Config {
            tokens: tokens.then(|| "tokens".into()),
            tls: tls.then_some(files),
            open,
            ..Config::default()
        }
    }

    #[test]
    fn only_this_machine_is_let_in_without_a_proof() {
        let [here, here6, mapped] = ["127.0.0.2:1", "[::1]:1", "[::ffff:127.0.0.1]:1"]
            .map(|address| address.parse::<SocketAddr>().unwrap());
        let everywhere = ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:10.0.0.1]:1"]
            .map(|address| address.parse::<SocketAddr>().unwrap());
        let all = |bits: u8| config(bits & 1 > 0, bits & 2 > 0, bits & 4 > 0, bits & 8 > 0);
        for bits in 0..16 {
            for address in [here, here6, mapped] {
                assert_eq!(all(bits).exposure(address), Ok(Exposure::Protected));
            }
        }
        for (config, wanted) in [
            (
                config(false, false, false, false),
                Err(Exposed::Unprotected),
            ),
            // TLS alone does not say who the client is.
            (config(false, true, false, false), Err(Exposed::Unprotected)),
            (config(false, true, false, true), Ok(Exposure::Open)),
            (config(false, false, false, true), Ok(Exposure::Open)),
            (config(false, true, true, false), Ok(Exposure::Protected)),
            (config(true, false, false, false), Err(Exposed::PlainTokens)),
            (config(true, false, false, true), Err(Exposed::PlainTokens)),
            (config(true, true, false, false), Ok(Exposure::Protected)),
            (config(true, true, false, true), Ok(Exposure::Protected)),
        ] {
            for address in everywhere {
                assert_eq!(config.exposure(address), wanted, "{address} {config:?}");
            }
        }
    }
}
