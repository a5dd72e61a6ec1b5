//! The filter of the log: the lines that it has.

use std::{env, ffi::OsString};

use tracing_subscriber::{EnvFilter, filter::Directive};

use hyper_delay_engine::scheduler::AUDIT_TARGET;

/// The default filter of the server. Two libraries of the store log only errors that they also
/// return, and without the name of a file.
pub(in crate::command) const SERVER: &str = "info,fjall=warn,lsm_tree=off,sfa=off";

/// The default filter of the other commands. They warn about lost connections.
pub(super) const CLIENT: &str = "warn,fjall=off,lsm_tree=off,sfa=off";

/// The default filter of commands whose errors say what the log would warn of.
#[cfg(feature = "cluster")]
pub(in crate::command) const SILENT: &str = "error,fjall=off,lsm_tree=off,sfa=off";

/// The environment variable that holds the filter.
const VARIABLE: &str = "RUST_LOG";

/// Returns the filter in `RUST_LOG`, or `default` if it is unset or unusable, with a warning in the
/// latter case. It keeps the lines of the audit.
pub(super) fn of_environment(default: &str) -> (EnvFilter, Option<String>) {
    let (filter, complaint) = filter(env::var_os(VARIABLE), default);
    (filter.add_directive(audit()), complaint)
}

/// Keeps the lines of the audit, whatever the filter is.
fn audit() -> Directive {
    let directive = format!("{AUDIT_TARGET}=info");
    directive.parse().expect("a target and a level")
}

/// Returns the filter, and a warning if `value` cannot be used.
fn filter(value: Option<OsString>, default: &str) -> (EnvFilter, Option<String>) {
    let fallback = |why: String| {
        let complaint = format!(
            "RUST_LOG {why}, {default} is used instead: unset it, or give a level such as debug or \
             a list such as info,hyper_delay=debug"
        );
        (EnvFilter::new(default), Some(complaint))
    };
    let Some(value) = value else {
        return (EnvFilter::new(default), None);
    };
    let Some(text) = value.to_str() else {
        return fallback(format!("is {value:?}, which is not Unicode"));
    };
    if text.trim().is_empty() {
        return fallback("is empty".to_owned());
    }
    if let Some(word) = text
        .split(',')
        .map(str::trim)
        .find(|word| is_misspelt(word))
    {
        return fallback(format!("is {text:?}, where {word} is not a level"));
    }
    match EnvFilter::try_new(text) {
        Ok(filter) => (filter, None),
        Err(error) => fallback(format!("is {text:?}, which is invalid ({error})")),
    }
}

/// Whether a directive names a crate that logs nothing here: most likely a misspelt level. Such a
/// filter would silence everything else.
fn is_misspelt(word: &str) -> bool {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    const CRATES: [&str; 12] = [
        "hyper_delay",
        "hyper_delay_client",
        "axum",
        "fjall",
        "hyper",
        "lsm_tree",
        "mio",
        "race_core",
        "race_tokio",
        "rustls",
        "sfa",
        "tokio",
    ];
    let target = word.split("::").next().unwrap_or_default();
    let is_word = word
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_-:".contains(&byte));
    is_word
        && !word.is_empty()
        && !word.bytes().all(|byte| byte.is_ascii_digit())
        && !LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level))
        && !CRATES.contains(&target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(value: &str) -> Option<String> {
        filter(Some(value.into()), SERVER).1
    }

    #[test]
    fn a_usable_value_is_used() {
        for value in [
            "info",
            "DEBUG",
            "off",
            "3",
            "info,fjall=warn",
            "warn,hyper_delay::connection=trace",
            "hyper_delay",
            "hyper_delay::server",
            "other=debug",
        ] {
            let (filter, complaint) = filter(Some(value.into()), "error");
            assert_eq!(complaint, None);
            assert_ne!(filter.to_string(), "error");
        }
        assert_eq!(filter(None, SERVER).1, None);
    }

    #[test]
    fn an_empty_or_invalid_value_is_reported_with_the_filter_used_instead() {
        for (value, named) in [
            ("", "RUST_LOG is empty, "),
            ("  ", "RUST_LOG is empty, "),
            ("inof", "RUST_LOG is \"inof\", where inof is not a level, "),
            ("warn, fjall=debug", "which is invalid ("),
            ("fjall=warn,dbug", "where dbug is not a level, "),
            (
                "hyper_delay=loud",
                "RUST_LOG is \"hyper_delay=loud\", which is invalid (",
            ),
        ] {
            let complaint = complaint(value).unwrap_or_default();
            assert!(complaint.contains(named), "{value:?}: {complaint}");
            assert!(complaint.contains(&format!("{SERVER} is used instead")));
        }
    }

    #[test]
    fn the_fallback_is_the_default() {
        let default = EnvFilter::new(SERVER).to_string();
        assert_eq!(filter(Some("inof".into()), SERVER).0.to_string(), default);
    }
}
