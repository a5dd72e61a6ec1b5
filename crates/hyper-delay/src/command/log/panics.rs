//! Panics go to the log, as every other line does: the default hook writes to standard error itself.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    panic::{self, PanicHookInfo},
    thread,
};

use tracing::Level;

/// Replaces the hook of the process.
pub(super) fn log() {
    panic::set_hook(Box::new(log_one));
}

fn log_one(panic: &PanicHookInfo<'_>) {
    let thread = thread::current();
    let thread = thread.name().unwrap_or("<unnamed>");
    let message = match (
        panic.payload().downcast_ref(),
        panic.payload().downcast_ref(),
    ) {
        (Some(text), _) => *text,
        (_, Some(text)) => String::as_str(text),
        _ => "with a value that is no text",
    };
    let location = panic.location().map(ToString::to_string);
    let location = location.unwrap_or_default();
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then_some(backtrace);
    if tracing::enabled!(Level::ERROR) {
        let backtrace = backtrace.as_ref().map(tracing::field::display);
        tracing::error!(thread, location, backtrace, "panicked: {message}");
    } else {
        super::line(&format!(
            "thread {thread} panicked at {location}: {message}"
        ));
    }
    // The process ends with its first thread.
    if thread == "main" {
        super::finish();
    }
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use serde_json::Value;

    use super::*;
    use crate::command::log;
    use hyper_delay_config::LogFormat;

    /// Makes the test panic in another thread, with this process's log.
    const PANICS: &str = "LOG_PANICS";

    /// Logs and ends, as a server whose thread panics.
    fn panic_in_a_thread() -> ! {
        log::start(log::SERVER, LogFormat::Json);
        let worker = thread::Builder::new().name("worker".to_owned());
        let worker = worker.spawn(|| panic!("{} is\nwrong", "this"));
        let _ = worker.expect("a thread can be started").join();
        log::finish();
        process::exit(0);
    }

    #[test]
    fn a_panic_is_a_line_of_the_log_whatever_its_filter_is() {
        if env::var_os(PANICS).is_some() {
            panic_in_a_thread();
        }
        let name = concat!(
            module_path!(),
            "::a_panic_is_a_line_of_the_log_whatever_its_filter_is"
        );
        let (_crate, name) = name.split_once("::").expect("the path has modules");
        let logged = |filter: &str| {
            let mut child = process::Command::new(env::current_exe().expect("it has a path"));
            child.args([name, "--exact", "--nocapture"]);
            child.env(PANICS, "1").env("RUST_LOG", filter);
            let output = child.env_remove("RUST_BACKTRACE").output();
            String::from_utf8(output.expect("it can be started").stderr).expect("it is text")
        };
        let line = logged("error");
        let json: Value = serde_json::from_str(&line).expect(&line);
        assert_eq!(json["level"], "ERROR");
        assert_eq!(json["fields"]["message"], "panicked: this is\nwrong");
        assert_eq!(json["fields"]["thread"], "worker");
        let location = json["fields"]["location"].as_str().unwrap_or_default();
        assert!(location.contains("panics.rs:"), "{line}");
        let text = logged("off");
        assert!(text.starts_with("thread worker panicked at "), "{text}");
        assert!(text.ends_with(": this is\nwrong\n"), "{text}");
    }
}
