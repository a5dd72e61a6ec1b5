//! The options of client commands for the connection to a server.

use std::{path::PathBuf, time::Duration};

use clap::{
    Args,
    builder::{OsStringValueParser, TypedValueParser},
};
use hyper_delay_client::{Builder, Client, Tls, Token};

use super::{CommandError, log};

/// The address of the server, and how to trust it.
#[derive(Debug, Args)]
pub(super) struct Remote {
    /// Host and port of the server.
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "HYPER_DELAY_ADDR",
        hide_env_values = true,
        value_parser = address,
        default_value = "127.0.0.1:7000"
    )]
    pub(super) addr: String,
    /// Connect with TLS, and trust the certificate authorities of the system.
    #[arg(
        long,
        env = "HYPER_DELAY_TLS",
        hide_env_values = true,
        value_parser = switch,
        help_heading = TLS
    )]
    tls: bool,
    /// Connect with TLS, and trust only the certificate authorities in this file.
    #[arg(
        long,
        value_name = "FILE",
        env = "HYPER_DELAY_TLS_CA",
        hide_env_values = true,
        value_parser = file("HYPER_DELAY_TLS_CA"),
        help_heading = TLS
    )]
    tls_ca: Option<PathBuf>,
    /// Connect with TLS and this client certificate.
    #[arg(
        long,
        value_name = "FILE",
        env = "HYPER_DELAY_TLS_CERT",
        hide_env_values = true,
        value_parser = file("HYPER_DELAY_TLS_CERT"),
        requires = "tls_key",
        help_heading = TLS
    )]
    tls_cert: Option<PathBuf>,
    /// The private key of the client certificate.
    #[arg(
        long,
        value_name = "FILE",
        env = "HYPER_DELAY_TLS_KEY",
        hide_env_values = true,
        value_parser = file("HYPER_DELAY_TLS_KEY"),
        requires = "tls_cert",
        help_heading = TLS
    )]
    tls_key: Option<PathBuf>,
    /// Connect with TLS, and expect this name in the server's certificate. Default: the host.
    #[arg(
        long,
        value_name = "NAME",
        env = "HYPER_DELAY_TLS_NAME",
        hide_env_values = true,
        value_parser = name,
        help_heading = TLS
    )]
    tls_name: Option<String>,
    /// Authenticate with the token in this file.
    ///
    /// Default: the token in HYPER_DELAY_TOKEN, or in the file that HYPER_DELAY_TOKEN_FILE names.
    /// The token itself is not an option, because other users can see a command line.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

// The library does not say that a value comes from the environment: these errors name the variable.

fn address(text: &str) -> Result<String, String> {
    match text {
        "" => Err("give HOST:PORT; if HYPER_DELAY_ADDR is set and empty, unset it".to_owned()),
        text => Ok(text.to_owned()),
    }
}

fn name(text: &str) -> Result<String, String> {
    match text {
        "" => Err("give a name; if HYPER_DELAY_TLS_NAME is set and empty, unset it".to_owned()),
        text => Ok(text.to_owned()),
    }
}

fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" | "y" | "t" => Ok(true),
        "" | "0" | "false" | "no" | "off" | "n" | "f" => Ok(false),
        _ => Err("set HYPER_DELAY_TLS to 1 or 0, or unset it".to_owned()),
    }
}

fn file(variable: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(move |path| match path.is_empty() {
        true => Err(format!(
            "give a file; if {variable} is set and empty, unset it"
        )),
        false => Ok(PathBuf::from(path)),
    })
}

/// The heading of the options in the help.
const TLS: &str = "TLS options";

impl Remote {
    /// Connects a client that keeps payloads as they are stored.
    pub(super) async fn connect(&self) -> Result<Client, CommandError> {
        self.connect_with(Builder::keep_compressed).await
    }

    /// Connects a client with more options.
    pub(super) async fn connect_with(
        &self,
        options: impl FnOnce(Builder) -> Builder,
    ) -> Result<Client, CommandError> {
        /// The highest `max_line_bytes` of a server. The server refuses what exceeds its own.
        const LONGEST: usize = 16 << 20;
        const PATIENCE: Duration = Duration::from_secs(5);
        let builder = Client::builder(self.addr.clone())
            .max_line_bytes(LONGEST)
            .connect_timeout(PATIENCE);
        let builder = match self.tls() {
            Some(tls) => builder.tls(tls),
            None => builder,
        };
        let builder = match self.token()? {
            Some(token) => builder.token(token),
            None => builder,
        };
        Ok(options(builder).connect().await?)
    }

    /// The token to show, if there is one.
    pub(super) fn token(&self) -> Result<Option<Token>, CommandError> {
        match &self.token_file {
            Some(file) => Ok(Some(Token::file(file))),
            None => Token::from_env().map_err(CommandError::Variable),
        }
    }

    /// The options of TLS, if one of them is given.
    pub(super) fn tls(&self) -> Option<Tls> {
        let is_plain = !self.tls
            && self.tls_ca.is_none()
            && self.tls_cert.is_none()
            && self.tls_name.is_none();
        if is_plain {
            return None;
        }
        let mut tls = Tls::new();
        if let Some(file) = &self.tls_ca {
            tls = tls.ca(file);
        }
        if let Some((certificate, key)) = self.tls_cert.as_ref().zip(self.tls_key.as_ref()) {
            tls = tls.client_certificate(certificate, key);
        }
        if let Some(name) = &self.tls_name {
            tls = tls.server_name(name);
        }
        Some(tls)
    }
}

/// Starts logging and runs a command on a single-threaded runtime.
pub(super) fn block_on(
    command: impl Future<Output = Result<(), CommandError>>,
) -> Result<(), CommandError> {
    log::start_client();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CommandError::Runtime)?;
    let result = runtime.block_on(command);
    // A thread may be blocked, as nothing reads what it prints.
    runtime.shutdown_background();
    result
}
