use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    CommandError,
    output::{print, report},
};
use hyper_delay_protocol::access::{Right, TokenEntry, TokenFile};

/// Make, list and revoke the tokens of a server.
///
/// The server reads the file that `tokens` in its configuration names, again on SIGHUP and when it
/// changes. The file has the hashes of the tokens, not the tokens.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay token new --name billing --right schedule --route 'mail*' --file tokens.json
  hyper-delay token new --name worker --right consume --route mail --file tokens.json \\
    --certificate worker.internal
  hyper-delay token list --file tokens.json
  hyper-delay token revoke 0a1b2c3d4e5f --file tokens.json")]
pub(super) struct Token {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token and print it, once: it cannot be shown again. With --certificate, print the id.
    New {
        /// The name of the token. Shown in logs and lists.
        #[arg(long)]
        name: String,
        /// A right that it gives: schedule, consume or admin. May be repeated.
        #[arg(long = "right", value_name = "RIGHT", required = true, value_parser = right)]
        rights: Vec<Right>,
        /// A route on which it has the rights; with a `*` at the end, a prefix. May be repeated.
        #[arg(long = "route", value_name = "ROUTE", required = true)]
        routes: Vec<String>,
        /// Give the rights to client certificates with this name (a DNS name, a URI, or the common
        /// name if there is neither) instead of making a token.
        #[arg(long, value_name = "NAME")]
        certificate: Option<String>,
        #[command(flatten)]
        quotas: QuotaArgs,
        #[command(flatten)]
        at: TokenFileArg,
    },
    /// List the tokens: id, name, rights and routes.
    List {
        #[command(flatten)]
        at: TokenFileArg,
    },
    /// Remove a token. The server closes the connections that have used it.
    Revoke {
        /// Its id, which is the part of the token between the two underscores.
        id: String,
        #[command(flatten)]
        at: TokenFileArg,
    },
}

/// What a token may take.
#[derive(Debug, Args)]
struct QuotaArgs {
    /// The most schedules per second, over all its connections. Default: no limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    schedules_per_second: Option<u32>,
    /// The most tasks that wait or are parked on its routes; tasks of other tokens count. Default:
    /// no limit.
    #[arg(long, value_name = "N")]
    pending: Option<u64>,
    /// The most bytes of their payloads. Default: no limit.
    #[arg(long, value_name = "N")]
    pending_bytes: Option<u64>,
}

impl QuotaArgs {
    fn apply(&self, entry: TokenEntry) -> TokenEntry {
        entry
            .with_rate(self.schedules_per_second)
            .with_pending(self.pending, self.pending_bytes)
    }
}

/// Which file.
#[derive(Debug, Args)]
struct TokenFileArg {
    /// The file of tokens. `new` makes it if it does not exist.
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
}

impl Token {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self.command {
            TokenCommand::New {
                name,
                rights,
                routes,
                certificate,
                quotas,
                at,
            } => {
                let (entry, secret) = match certificate {
                    Some(certificate) => {
                        let entry = TokenEntry::of_certificate(certificate, name, rights, routes);
                        (entry.map_err(CommandError::NewToken)?, None)
                    }
                    None => {
                        let made = TokenEntry::new(name, rights, routes);
                        let (entry, secret) = made.map_err(CommandError::NewToken)?;
                        (entry, Some(secret))
                    }
                };
                let entry = quotas.apply(entry);
                let id = entry.grant().id.clone();
                let _lock = TokenFile::lock(&at.file)?;
                let mut file = TokenFile::read_or_new(&at.file)?;
                file.add(entry)?;
                file.write()?;
                let shown = secret.map_or_else(|| id.clone(), |secret| secret.reveal());
                print(&shown).or_else(|unprinted| {
                    // A token that was not shown cannot be shown again.
                    file.remove(&id);
                    file.write()?;
                    Err(unprinted)
                })
            }
            TokenCommand::List { at } => {
                let file = TokenFile::read(&at.file)?;
                if file.entries().is_empty() {
                    report("the file has no tokens")?;
                }
                for entry in file.entries() {
                    print(&describe_token(entry))?;
                }
                Ok(())
            }
            TokenCommand::Revoke { id, at } => {
                let _lock = TokenFile::lock(&at.file)?;
                let mut file = TokenFile::read(&at.file)?;
                if !file.remove(&id) {
                    return Err(CommandError::NoToken { id, file: at.file });
                }
                file.write()?;
                print(&format!("{id} is revoked"))
            }
        }
    }
}

/// Describes a token in one line.
fn describe_token(entry: &TokenEntry) -> String {
    let grant = entry.grant();
    let rights: Vec<_> = grant.rights.iter().map(|right| right.as_str()).collect();
    let holder = match entry.certificate() {
        Some(certificate) => format!(", by the certificate {certificate:?}"),
        None => String::new(),
    };
    let quota = |most: Option<u64>, what: &str| match most {
        Some(most) => format!(", at most {most} {what}"),
        None => String::new(),
    };
    let rate = quota(
        grant.schedules_per_second.map(u64::from),
        "schedules per second",
    );
    let pending = quota(grant.pending, "pending tasks");
    let bytes = quota(grant.pending_bytes, "pending bytes");
    format!(
        "{} {:?} may {} on {}{rate}{pending}{bytes}{holder}",
        grant.id,
        grant.name,
        rights.join(", "),
        grant.routes
    )
}

fn right(text: &str) -> Result<Right, String> {
    let right = Right::ALL.into_iter().find(|right| right.as_str() == text);
    right.ok_or_else(|| format!("give {}", Right::ALL.map(Right::as_str).join(", ")))
}
