//! Bulk operations on the command line: a count, a question, and the progress to the end.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    time::Duration,
};

use hyper_delay_client::{Bulk, Client, Count, Job};

use super::{CommandError, output::print, time_format};

/// Counts what an operation changes, asks unless `yes` is set, begins it and waits for its end.
pub(super) async fn run(
    client: &Client,
    bulk: Bulk,
    verb: &str,
    past: &str,
    yes: bool,
) -> Result<(), CommandError> {
    let count = bulk.count().await?;
    let tasks = describe_count(count);
    if count.tasks == 0 && !count.more {
        return print(&format!("{tasks} match"));
    }
    if !yes && !confirm(&format!("{verb} {tasks}?"))? {
        return print("nothing is changed");
    }
    let job = bulk.await?;
    let number = job.number;
    let Some(job) = wait_until_done(client, job).await? else {
        return print(&format!(
            "begun as job {number}; to see its end, a token needs the right admin on every route"
        ));
    };
    match job.state.as_str() {
        "done" => print(&format!("{past}: {}", job.changed)),
        state => Err(CommandError::Job {
            number: job.number,
            state: state.to_owned(),
            changed: job.changed,
        }),
    }
}

/// Counts what an operation would change, and changes nothing.
pub(super) async fn dry_run(bulk: &Bulk) -> Result<(), CommandError> {
    let count = bulk.count().await?;
    print(&format!("{} match", describe_count(count)))
}

fn describe_count(Count { tasks, more, .. }: Count) -> String {
    match more {
        true => format!("{tasks} tasks or more"),
        false if tasks == 1 => "1 task".to_owned(),
        false => format!("{tasks} tasks"),
    }
}

/// Describes which tasks a bulk operation is for; empty for all.
pub(super) fn describe_filter(
    reason: Option<&str>,
    from: Option<u64>,
    until: Option<u64>,
) -> String {
    let mut text = reason.map_or_else(String::new, |reason| format!(", reason {reason:?}"));
    for (what, at) in [("from", from), ("until", until)] {
        if let Some(at) = at {
            text += &format!(", {what} {}", time_format::format_rfc_3339(at));
        }
    }
    text
}

/// Asks on the terminal. Without a terminal the answer is an error that names the option.
fn confirm(question: &str) -> Result<bool, CommandError> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Err(CommandError::Unconfirmed {
            question: question.to_owned(),
        });
    }
    let written = io::stderr().write_all(format!("{question} [y/N] ").as_bytes());
    written.map_err(CommandError::Report)?;
    let mut answer = String::new();
    let read = input.lock().read_line(&mut answer);
    read.map_err(CommandError::Input)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Waits for the end of a job. `None` if the token may begin it and may not look at jobs.
async fn wait_until_done(client: &Client, mut job: Job) -> Result<Option<Job>, CommandError> {
    const PAUSE: Duration = Duration::from_millis(100);
    while job.is_running() {
        tokio::time::sleep(PAUSE).await;
        let jobs = match client.jobs().await {
            Err(error) if error.is_forbidden() => return Ok(None),
            jobs => jobs?,
        };
        let found = jobs.into_iter().find(|other| other.number == job.number);
        job = found.ok_or(CommandError::Job {
            number: job.number,
            state: "not in the list of jobs any more".to_owned(),
            changed: job.changed,
        })?;
    }
    Ok(Some(job))
}
