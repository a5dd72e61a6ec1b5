//! Reads the files of TLS and of tokens again: with each new configuration, and when their contents
//! have changed.

use std::{
    future::pending, net::SocketAddr, panic::resume_unwind, path::PathBuf, sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{mpsc, watch},
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};

use crate::{
    ServeError,
    progress::Progress,
    tls::{self, Tls, TlsError, TlsStamp},
};
use hyper_delay_config::{Config, TlsFiles};
use hyper_delay_protocol::access::{TokenFileError, TokenStamp, Tokens, foreign_owner};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::reload";

/// The time between two looks at the files.
const PERIOD: Duration = Duration::from_secs(5);

/// A change that is valid as a whole.
#[derive(Debug)]
pub(crate) enum Update {
    /// A new configuration, with its files.
    Config(Box<Config>, Protection),
    /// New contents of the same TLS files.
    Tls(Tls),
    /// New contents of the same file of tokens.
    Tokens(Tokens),
}

/// What the files say.
#[derive(Debug, Clone, Default)]
pub struct Protection {
    /// What TLS needs for new connections; `None`: they are plain.
    pub(crate) tls: Option<Tls>,
    /// The rights of clients; `None`: every client may do everything.
    pub(crate) tokens: Option<Tokens>,
}

/// Reads the files, and checks that a server with this configuration may listen on this address.
///
/// # Errors
///
/// If it may not, or a file cannot be used.
pub fn load(config: &Config, address: SocketAddr) -> Result<Protection, ServeError> {
    config.exposure(address)?;
    Files::of(config).read().protection()
}

impl Protection {
    /// Returns why clients refuse the certificate, or soon will.
    #[must_use]
    pub fn trouble(&self) -> Option<impl std::fmt::Display> {
        self.tls.as_ref()?.validity?.trouble()
    }
}

/// Validates new configurations and new contents of files before the server gets them.
pub(crate) struct Reloader {
    configs: watch::Receiver<Config>,
    /// The address of the listener, which does not change.
    address: SocketAddr,
    /// The files in force.
    files: Files,
    /// What was read last, valid or not: an invalid content is reported once.
    seen: Seen,
    updates: mpsc::Sender<Update>,
    progress: Arc<Progress>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Files {
    tls: Option<TlsFiles>,
    tokens: Option<PathBuf>,
}

/// The contents that were read last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Seen {
    tls: Option<TlsStamp>,
    tokens: Option<TokenStamp>,
}

struct Contents {
    tls: Result<Option<Tls>, TlsError>,
    tokens: Result<Option<Tokens>, TokenFileError>,
    seen: Seen,
}

impl Reloader {
    /// Takes the current configuration.
    ///
    /// # Errors
    ///
    /// If one of its files cannot be used, or it may not listen on this address.
    pub(crate) async fn start(
        mut configs: watch::Receiver<Config>,
        address: SocketAddr,
        updates: mpsc::Sender<Update>,
        progress: Arc<Progress>,
    ) -> Result<(Self, Config, Protection), ServeError> {
        let config = configs.borrow_and_update().clone();
        config.exposure(address)?.warn(address);
        let files = Files::of(&config);
        let contents = files.clone().read_aside().await;
        let seen = contents.seen;
        let protection = contents.protection()?;
        files.warn(protection.tls.as_ref());
        let reloader = Self {
            configs,
            address,
            files,
            seen,
            updates,
            progress,
        };
        Ok((reloader, config, protection))
    }

    /// Sends updates until the future is dropped.
    pub(crate) async fn run(mut self) {
        let mut look = interval(PERIOD);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        look.reset();
        let mut is_open = true;
        loop {
            tokio::select! {
                changed = self.configs.changed(), if is_open => match changed {
                    Ok(()) => self.configure().await,
                    Err(_) => is_open = false,
                },
                _ = look.tick() => self.look().await,
            }
        }
    }

    async fn configure(&mut self) {
        let config = self.configs.borrow_and_update().clone();
        let files = Files::of(&config);
        let contents = files.clone().read_aside().await;
        let seen = contents.seen;
        let checked = config
            .exposure(self.address)
            .map_err(ServeError::from)
            .and_then(|exposure| Ok((exposure, contents.protection()?)));
        match checked {
            Ok((exposure, protection)) => {
                exposure.warn(self.address);
                files.warn(protection.tls.as_ref());
                self.files = files;
                self.seen = seen;
                self.send(Update::Config(Box::new(config), protection))
                    .await;
            }
            Err(error) => {
                if self.files == files {
                    self.seen = seen;
                }
                tracing::error!(
                    target: TARGET,
                    %error,
                    "the configuration was not reloaded: the old one stays in force",
                );
                self.progress.answered();
            }
        }
    }

    async fn look(&mut self) {
        if self.files.tls.is_none() && self.files.tokens.is_none() {
            return;
        }
        let Contents { tls, tokens, seen } = self.files.clone().read_aside().await;
        let before = std::mem::replace(&mut self.seen, seen);
        if seen.tls != before.tls {
            match tls {
                Ok(Some(tls)) => {
                    tracing::info!(target: TARGET, "the TLS files have changed and were reloaded");
                    self.files.warn_of_certificate(Some(&tls));
                    self.send(Update::Tls(tls)).await;
                }
                Ok(None) => {}
                Err(error) => tracing::error!(
                    target: TARGET,
                    %error,
                    "the TLS files have changed and were not reloaded: the old ones stay in force",
                ),
            }
        }
        if seen.tokens != before.tokens {
            match tokens {
                Ok(Some(tokens)) => {
                    let count = tokens.len();
                    tracing::info!(
                        target: TARGET,
                        tokens = count,
                        "the file of tokens has changed and was reloaded",
                    );
                    self.files.warn_of_owner();
                    self.send(Update::Tokens(tokens)).await;
                }
                Ok(None) => {}
                Err(error) => tracing::error!(
                    target: TARGET,
                    %error,
                    "the file of tokens has changed and was not reloaded: the old tokens stay in \
                     force",
                ),
            }
        }
    }

    async fn send(&self, update: Update) {
        // Without a receiver the server is ending.
        let _ = self.updates.send(update).await;
    }
}

impl Files {
    fn of(config: &Config) -> Self {
        Self {
            tls: config.tls.clone(),
            tokens: config.tokens.clone(),
        }
    }

    fn read(&self) -> Contents {
        let (tls, tls_stamp) = tls::load(self.tls.as_ref());
        let (tokens, token_stamp) = Tokens::load(self.tokens.as_deref());
        let seen = Seen {
            tls: tls_stamp,
            tokens: token_stamp,
        };
        Contents { tls, tokens, seen }
    }

    /// Logs that another user can change the tokens.
    fn warn_of_owner(&self) {
        let file = self.tokens.as_deref();
        if let Some((file, user)) = file.and_then(|file| Some((file, foreign_owner(file)?))) {
            tracing::warn!(
                target: TARGET,
                file = %file.display(),
                user,
                "the file of tokens belongs to another user, who can give every right: make the \
                 user of the server its owner",
            );
        }
    }

    /// Logs what is wrong with the certificate and with the file of tokens.
    fn warn(&self, tls: Option<&Tls>) {
        self.warn_of_owner();
        self.warn_of_certificate(tls);
    }

    fn warn_of_certificate(&self, tls: Option<&Tls>) {
        let validity = tls.and_then(|tls| tls.validity);
        if let (Some(files), Some(validity)) = (&self.tls, validity) {
            validity.warn(&files.cert);
        }
    }

    /// Reads on a thread for blocking work: a network file system can be slow.
    async fn read_aside(self) -> Contents {
        match spawn_blocking(move || self.read()).await {
            Ok(contents) => contents,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime is ending, and this future with it.
                Err(_) => pending().await,
            },
        }
    }
}

impl Contents {
    fn protection(self) -> Result<Protection, ServeError> {
        Ok(Protection {
            tls: self.tls?,
            tokens: self.tokens?,
        })
    }
}

#[cfg(test)]
mod tests;
