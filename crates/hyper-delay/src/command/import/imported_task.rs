//! Lines of an export.

use std::{sync::Arc, time::Duration};

use hyper_delay_archive::backup::OriginalTimes;
use hyper_delay_client::Task;
use hyper_delay_engine::clock::Clock;
use hyper_delay_protocol::{
    Compression, Due, Request, Schedule, TaskRequest, Terms, read_delay, read_time,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A task of an export.
#[derive(Debug)]
pub(super) struct ImportedTask {
    pub(super) route: Arc<str>,
    pub(super) id: Arc<str>,
    pub(super) schedule: Schedule,
    /// What it was scheduled with.
    pub(super) original: OriginalTimes,
}

/// The fields of an exported line that a server ignores.
#[derive(Debug, Deserialize)]
struct ExportedFields<'a> {
    #[serde(borrow)]
    original_delay_ms: Option<&'a RawValue>,
    #[serde(borrow)]
    original_fire_at: Option<&'a RawValue>,
}

impl ImportedTask {
    /// Reads a line of an export.
    ///
    /// # Errors
    ///
    /// The error is the reason why the line is refused.
    pub(super) fn read(line: &[u8]) -> Result<Self, String> {
        let line = line.trim_ascii_end();
        let request = hyper_delay_protocol::parse(line).map_err(|refusal| refusal.message)?;
        let Request::Task(TaskRequest::Schedule(schedule)) = request.request else {
            return Err("it is no schedule: give lines of `hyper-delay export`".to_owned());
        };
        let missing = |field: &str| {
            format!("{field} is missing: give it, so that the import can be repeated")
        };
        Ok(Self {
            route: schedule.route.clone().ok_or_else(|| missing("route_key"))?,
            id: schedule.id.clone().ok_or_else(|| missing("id"))?,
            original: original_times(line)?,
            schedule,
        })
    }

    /// Returns whether it has expired.
    pub(super) fn has_expired(&self) -> bool {
        let terms = self.schedule.terms.as_ref();
        let expires_at = terms.and_then(|terms| terms.expires_at);
        let now = Clock::new().now().wall_millis();
        expires_at.is_some_and(|at| at <= now)
    }

    /// Returns the task that a client schedules.
    pub(super) fn into_task(self) -> Task {
        use hyper_delay_client::Compression as Label;
        let Schedule {
            due,
            compression,
            payload,
            replace,
            headers,
            terms,
            ..
        } = self.schedule;
        let task = Task::new(payload.into_vec())
            .route(&*self.route)
            .id(&*self.id)
            .compression(match compression {
                Compression::None => Label::None,
                Compression::Lz4 => Label::Lz4,
                Compression::Zstd => Label::Zstd,
            });
        let task = match due {
            Due::At(fire_at) => task.at_millis(fire_at),
            Due::After(delay_ms) => task.delay(Duration::from_millis(delay_ms)),
        };
        let task = if replace { task.replace() } else { task };
        let headers = headers.pairs().into_iter();
        let task = headers.fold(task, |task, (name, value)| task.header(name, value));
        with_terms(task, &terms.map(|terms| *terms).unwrap_or_default())
    }
}

fn with_terms(mut task: Task, terms: &Terms) -> Task {
    let millis = Duration::from_millis;
    if let Some(at) = terms.expires_at {
        task = task.expires_at_millis(at);
    }
    if let Some(timeout) = terms.ack_timeout_ms {
        task = task.ack_timeout(millis(timeout));
    }
    if let Some(attempts) = terms.max_attempts {
        task = task.max_attempts(attempts);
    }
    if let Some(first) = terms.retry_delay_ms {
        task = task.retry_delay(millis(first));
    }
    if let Some(longest) = terms.max_retry_delay_ms {
        task = task.max_retry_delay(millis(longest));
    }
    task
}

/// Returns what an exported task was scheduled with.
fn original_times(line: &[u8]) -> Result<OriginalTimes, String> {
    let fields = serde_json::from_slice(line);
    let fields: ExportedFields<'_> = fields.map_err(|error| error.to_string())?;
    Ok(OriginalTimes {
        delay_ms: read_delay("original_delay_ms", fields.original_delay_ms)?,
        fire_at: read_time("original_fire_at", fields.original_fire_at)?,
    })
}
