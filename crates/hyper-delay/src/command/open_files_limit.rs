//! The limit of open files of the process.

/// The target of its events in the log.
#[cfg(unix)]
const TARGET: &str = "hyper_delay::command::files";

/// Raises the soft limit to the hard limit, and warns if that fails. The server caps its
/// connections by the result.
#[cfg(unix)]
pub(super) fn raise() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(target: TARGET, %error, "the limit of open files could not be raised");
    }
}

#[cfg(not(unix))]
pub(super) const fn raise() {}
