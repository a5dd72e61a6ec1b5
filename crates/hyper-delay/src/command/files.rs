//! How many files may be open, connections among them.

/// What the store and the rest need besides the connections.
#[cfg(unix)]
const OTHERS: u64 = 256;

/// Raises the limit as far as this process may, and warns if that is not far enough.
#[cfg(unix)]
pub(super) fn raise_limit(max_connections: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised.current,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files could not be raised");
            limit.current
        }
    };
    let wanted = u64::try_from(max_connections)
        .unwrap_or(u64::MAX)
        .saturating_add(OTHERS);
    if let Some(limit) = now.filter(|limit| *limit < wanted) {
        tracing::warn!(
            limit,
            max_connections,
            "fewer files can be open than max_connections needs: raise the hard limit (ulimit -Hn) to {wanted}, or lower max_connections"
        );
    }
}

#[cfg(not(unix))]
pub(super) const fn raise_limit(_: usize) {}
