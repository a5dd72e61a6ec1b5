//! The connection to a server and the output of the client commands.

use std::{
    borrow::Cow,
    io::{self, Write as _},
    ops::RangeInclusive,
    path::PathBuf,
    time::Duration,
};

use clap::{
    Args,
    builder::{OsStringValueParser, TypedValueParser},
};
use hyper_delay_client::{Builder, Client, Tls, Token};

use super::{Failure, log};

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
    pub(super) async fn connect(&self) -> Result<Client, Failure> {
        self.connect_with(Builder::keep_compressed).await
    }

    /// Connects a client with more options.
    pub(super) async fn connect_with(
        &self,
        options: impl FnOnce(Builder) -> Builder,
    ) -> Result<Client, Failure> {
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
    pub(super) fn token(&self) -> Result<Option<Token>, Failure> {
        match &self.token_file {
            Some(file) => Ok(Some(Token::file(file))),
            None => Token::from_env().map_err(Failure::Variable),
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
pub(super) fn block_on(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    log::start_client();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    let result = runtime.block_on(command);
    // A thread may be blocked, as nothing reads what it prints.
    runtime.shutdown_background();
    result
}

/// Prints a line and flushes, so that it also reaches a pipe immediately. What clients have chosen,
/// such as the name of a route, can neither add a line nor command the terminal.
pub(super) fn print(line: &str) -> Result<(), Failure> {
    print_lines(&escaped(line))
}

/// Prints text that has nothing from clients.
pub(super) fn print_lines(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(Failure::Output)
}

/// Prints a line on standard error, so that standard output has data only. Unlike the log it is
/// part of the result.
pub(super) fn report(line: &str) -> Result<(), Failure> {
    write_report(line).map_err(Failure::Report)
}

/// Does what [`report`] does, for callers with errors of their own.
pub(super) fn write_report(line: &str) -> io::Result<()> {
    let line = format!("{}\n", escaped(line));
    io::stderr().write_all(line.as_bytes())
}

/// Prints a value as one line of JSON.
pub(super) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(&to_json(value)?)
}

/// Returns a value as one line of JSON.
pub(super) fn to_json(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::Output(error.into()))
}

/// Replaces the characters that would change how a terminal shows a line, except tabs. The result
/// is also valid in JSON.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    /// Characters that change the direction of the text or end a line.
    const MARKS: [RangeInclusive<char>; 3] = [
        '\u{200e}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2066}'..='\u{2069}',
    ];
    let changes = |letter: char| {
        letter != '\t' && letter.is_control() || MARKS.iter().any(|marks| marks.contains(&letter))
    };
    if !text.contains(changes) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if changes(letter) {
            escaped += &format!("\\u{:04x}", u32::from(letter));
        } else {
            escaped.push(letter);
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line_without_commands_for_the_terminal() {
        assert_eq!(
            escaped("a\u{1b}[2J\nb\r\u{9b}1m"),
            r"a\u001b[2J\u000ab\u000d\u009b1m"
        );
        assert_eq!(escaped("\u{202e}x\u{2028}"), r"\u202ex\u2028");
        let plain = "caf\u{e9}\t\u{4efb}\u{52a1} \u{1f600} \\";
        assert!(matches!(escaped(plain), Cow::Borrowed(text) if text == plain));
    }

    #[test]
    fn escaped_json_is_the_same_json() {
        let value = serde_json::json!({"a\u{9b}": "b\u{1b}\u{2028}\u{7f}"});
        let line = value.to_string();
        let escaped = escaped(&line);
        assert!(escaped.is_ascii(), "{escaped}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&escaped).unwrap(),
            value
        );
    }
}
