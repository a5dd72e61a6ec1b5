use clap::Args;

use super::{
    CommandError, bulk,
    output::{print, print_json, report},
    remote::Remote,
};

/// Remove every waiting, parked and dead task of a route.
///
/// Counts the tasks and asks first. Tasks that are scheduled in the meantime stay.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay purge service-A")]
pub(super) struct Purge {
    /// The route.
    route: String,
    /// Also remove tasks in flight: the acks of their consumers then have no effect.
    #[arg(long)]
    in_flight: bool,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Purge {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let client = self.remote.connect().await?;
        let purge = client.purge(&self.route).in_flight(self.in_flight);
        bulk::run(&client, purge, "remove", "removed", self.yes).await
    }
}

/// List the bulk operations, newest first, or stop one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay jobs
  hyper-delay jobs --stop 17")]
pub(super) struct Jobs {
    /// Stop this job before its next batch; fail if it is not running.
    #[arg(long, value_name = "JOB")]
    stop: Option<u64>,
    /// Print a line of JSON for each job, with the fields of the protocol.
    #[arg(long, conflicts_with = "stop")]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Jobs {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let client = self.remote.connect().await?;
        if let Some(number) = self.stop {
            return match client.stop_job(number).await? {
                true => print(&format!("job {number} stops")),
                false => Err(CommandError::NoJob { number }),
            };
        }
        let jobs = client.jobs().await?;
        if jobs.is_empty() {
            report("there are no jobs")?;
        }
        for job in jobs {
            if self.json {
                print_json(&job)?;
                continue;
            }
            let began = super::time_format::format_rfc_3339(job.began_at_millis);
            let mut text = format!(
                "{}: {} of {} is {}, tasks changed: {}; begun at {began}",
                job.number, job.act, job.route, job.state, job.changed
            );
            text +=
                &bulk::describe_filter(job.reason.as_deref(), job.from_millis, job.until_millis);
            text += &super::reschedule_all::describe_move(
                job.task_state.as_ref(),
                job.due_millis,
                job.shift_millis,
            );
            for (what, who) in [(" by ", &job.by), (" from ", &job.address)] {
                if let Some(who) = who {
                    text += what;
                    text += who;
                }
            }
            print(&text)?;
        }
        Ok(())
    }
}
