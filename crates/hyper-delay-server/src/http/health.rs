use std::{sync::Arc, time::Duration};

use axum::{extract::State, http::StatusCode};

use super::state::{self, SCHEDULER};
use crate::driver::ServerEvent;

/// A write that takes longer than this is stuck.
const WRITE: Duration = Duration::from_secs(5);

/// The process is alive.
pub(super) async fn alive() -> &'static str {
    "alive\n"
}

/// Whether the server can take a schedule.
pub(super) async fn ready(State(state): State<Arc<state::HttpState>>) -> (StatusCode, String) {
    match check(&state).await {
        Ok(()) => (StatusCode::OK, "ready\n".to_owned()),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}

async fn check(state: &state::HttpState) -> Result<(), String> {
    let backend = state.backend()?;
    let write = &backend.metrics.write;
    if write.has_failed() {
        return Err("a write to the store has failed: look at the log".to_owned());
    }
    if let Some(taken) = write.in_progress_for().filter(|taken| *taken > WRITE) {
        let seconds = taken.as_secs();
        return Err(format!(
            "a write to the disk of data_dir has taken {seconds} seconds so far: check the disk"
        ));
    }
    backend.ask(ServerEvent::IsReady).await.ok_or(SCHEDULER)??;
    match backend.metrics.is_full() {
        false => Ok(()),
        true => {
            Err("the disk of data_dir is full: free some; deliveries and acks go on".to_owned())
        }
    }
}
