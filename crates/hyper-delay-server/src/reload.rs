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
    progress::ServerProgress,
    tls::{self, ServerTls, TlsError, TlsStamp},
};
use hyper_delay_config::{Config, TlsFiles};
use hyper_delay_protocol::access::{TokenFileError, TokenStamp, Tokens, foreign_owner};

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::reload";

/// The time between two checks of the files.
const PERIOD: Duration = Duration::from_secs(5);

/// A change that is valid as a whole.
#[derive(Debug)]
pub(crate) enum ServerUpdate {
    /// A new configuration, with its files.
    Config(Box<Config>, ServerSecurity),
    /// New contents of the same TLS files.
    Tls(ServerTls),
    /// New contents of the same file of tokens.
    Tokens(Tokens),
}

/// The contents of the files: TLS and tokens.
#[derive(Debug, Clone, Default)]
pub struct ServerSecurity {
    /// The TLS of new connections; `None`: they are plain.
    pub(crate) tls: Option<ServerTls>,
    /// The rights of clients; `None`: every client may do everything.
    pub(crate) tokens: Option<Tokens>,
}

/// Reads the files, and checks that a server with this configuration may listen on this address.
///
/// # Errors
///
/// If it may not, or a file cannot be used.
pub fn load(config: &Config, address: SocketAddr) -> Result<ServerSecurity, ServeError> {
    config.exposure(address)?;
    SecurityFilePaths::of(config).read().into_security()
}

impl ServerSecurity {
    /// Returns the problem of the certificate, if clients refuse it or soon will.
    #[must_use]
    pub fn certificate_problem(&self) -> Option<impl std::fmt::Display> {
        self.tls.as_ref()?.validity?.problem()
    }
}

/// Validates new configurations and new contents of files before the server gets them.
pub(crate) struct Reloader {
    configs: watch::Receiver<Config>,
    /// The address of the listener, which does not change.
    address: SocketAddr,
    /// The files in force.
    files: SecurityFilePaths,
    /// The stamps of the last read, valid or not: an invalid content is reported once.
    stamps: FileStamps,
    updates: mpsc::Sender<ServerUpdate>,
    progress: Arc<ServerProgress>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SecurityFilePaths {
    tls: Option<TlsFiles>,
    tokens: Option<PathBuf>,
}

/// The contents that were read last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct FileStamps {
    tls: Option<TlsStamp>,
    tokens: Option<TokenStamp>,
}

struct SecurityFileContents {
    tls: Result<Option<ServerTls>, TlsError>,
    tokens: Result<Option<Tokens>, TokenFileError>,
    stamps: FileStamps,
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
        updates: mpsc::Sender<ServerUpdate>,
        progress: Arc<ServerProgress>,
    ) -> Result<(Self, Config, ServerSecurity), ServeError> {
        let config = configs.borrow_and_update().clone();
        config.exposure(address)?.warn(address);
        let files = SecurityFilePaths::of(&config);
        let contents = files.clone().read_blocking().await;
        let stamps = contents.stamps;
        let security = contents.into_security()?;
        files.warn(security.tls.as_ref());
        let reloader = Self {
            configs,
            address,
            files,
            stamps,
            updates,
            progress,
        };
        Ok((reloader, config, security))
    }

    /// Sends updates until the future is dropped.
    pub(crate) async fn run(mut self) {
        let mut check_timer = interval(PERIOD);
        check_timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        check_timer.reset();
        let mut is_open = true;
        loop {
            tokio::select! {
                changed = self.configs.changed(), if is_open => match changed {
                    Ok(()) => self.apply().await,
                    Err(_) => is_open = false,
                },
                _ = check_timer.tick() => self.check_files().await,
            }
        }
    }

    async fn apply(&mut self) {
        let config = self.configs.borrow_and_update().clone();
        let files = SecurityFilePaths::of(&config);
        let contents = files.clone().read_blocking().await;
        let stamps = contents.stamps;
        let checked = config
            .exposure(self.address)
            .map_err(ServeError::from)
            .and_then(|exposure| Ok((exposure, contents.into_security()?)));
        match checked {
            Ok((exposure, security)) => {
                exposure.warn(self.address);
                files.warn(security.tls.as_ref());
                self.files = files;
                self.stamps = stamps;
                self.send(ServerUpdate::Config(Box::new(config), security))
                    .await;
            }
            Err(error) => {
                if self.files == files {
                    self.stamps = stamps;
                }
                tracing::error!(
                    target: TARGET,
                    %error,
                    "the configuration was not reloaded: the old one stays in force",
                );
                self.progress.reload_answered();
            }
        }
    }

    async fn check_files(&mut self) {
        if self.files.tls.is_none() && self.files.tokens.is_none() {
            return;
        }
        let SecurityFileContents {
            tls,
            tokens,
            stamps,
        } = self.files.clone().read_blocking().await;
        let before = std::mem::replace(&mut self.stamps, stamps);
        if stamps.tls != before.tls {
            match tls {
                Ok(Some(tls)) => {
                    tracing::info!(target: TARGET, "the TLS files have changed and were reloaded");
                    self.files.warn_of_certificate(Some(&tls));
                    self.send(ServerUpdate::Tls(tls)).await;
                }
                Ok(None) => {}
                Err(error) => tracing::error!(
                    target: TARGET,
                    %error,
                    "the TLS files have changed and were not reloaded: the old ones stay in force",
                ),
            }
        }
        if stamps.tokens != before.tokens {
            match tokens {
                Ok(Some(tokens)) => {
                    let count = tokens.len();
                    tracing::info!(
                        target: TARGET,
                        tokens = count,
                        "the file of tokens has changed and was reloaded",
                    );
                    self.files.warn_of_owner();
                    self.send(ServerUpdate::Tokens(tokens)).await;
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

    async fn send(&self, update: ServerUpdate) {
        // Without a receiver the server is ending.
        let _ = self.updates.send(update).await;
    }
}

impl SecurityFilePaths {
    fn of(config: &Config) -> Self {
        Self {
            tls: config.tls.clone(),
            tokens: config.tokens.clone(),
        }
    }

    fn read(&self) -> SecurityFileContents {
        let (tls, tls_stamp) = tls::load(self.tls.as_ref());
        let (tokens, token_stamp) = Tokens::load(self.tokens.as_deref());
        let stamps = FileStamps {
            tls: tls_stamp,
            tokens: token_stamp,
        };
        SecurityFileContents {
            tls,
            tokens,
            stamps,
        }
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

    /// Logs the problems of the certificate and of the file of tokens.
    fn warn(&self, tls: Option<&ServerTls>) {
        self.warn_of_owner();
        self.warn_of_certificate(tls);
    }

    fn warn_of_certificate(&self, tls: Option<&ServerTls>) {
        let validity = tls.and_then(|tls| tls.validity);
        if let (Some(files), Some(validity)) = (&self.tls, validity) {
            validity.warn(&files.cert);
        }
    }

    /// Reads on a thread for blocking work: a network file system can be slow.
    async fn read_blocking(self) -> SecurityFileContents {
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

impl SecurityFileContents {
    fn into_security(self) -> Result<ServerSecurity, ServeError> {
        Ok(ServerSecurity {
            tls: self.tls?,
            tokens: self.tokens?,
        })
    }
}

#[cfg(test)]
mod tests;
