use clap::Args;

use super::{
    CommandError, bulk,
    output::{print, print_json, report},
    remote::Remote,
    reschedule_all, time_format,
};

/// Print what operators changed, newest first. The server keeps the last 1,000 changes.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay audit")]
pub(super) struct Audit {
    /// Maximum number of lines to print. Default: all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Print a line of JSON for each change, with the fields of the protocol.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Audit {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let client = self.remote.connect().await?;
        let mut left = self.limit.unwrap_or(u64::MAX);
        let mut is_empty = true;
        let mut before = None;
        while left > 0 {
            let mut query = client.audit().limit(1_000);
            if let Some(number) = before {
                query = query.before(number);
            }
            let page = query.await?;
            is_empty &= page.lines.is_empty();
            let most = usize::try_from(left).unwrap_or(usize::MAX);
            for line in page.lines.iter().take(most) {
                if self.json {
                    print_json(line)?;
                    continue;
                }
                let at = time_format::format_rfc_3339(line.at_millis);
                let mut text = format!("{at} {} {}", line.act, line.route);
                if let Some(id) = &line.id {
                    text += &format!(" {id}");
                }
                if let Some(job) = line.job {
                    text += &format!(", job {job}");
                }
                if let Some(tasks) = line.tasks {
                    text += &format!(", tasks changed: {tasks}");
                }
                text += &bulk::describe_filter(
                    line.reason.as_deref(),
                    line.from_millis,
                    line.until_millis,
                );
                text += &reschedule_all::describe_move(
                    line.task_state.as_ref(),
                    line.due_millis,
                    line.shift_millis,
                );
                if line.in_flight {
                    text += ", in flight too";
                }
                for (what, who) in [(" by ", &line.by), (" from ", &line.address)] {
                    if let Some(who) = who {
                        text += what;
                        text += who;
                    }
                }
                print(&text)?;
            }
            left = left.saturating_sub(page.lines.len() as u64);
            before = page.lines.last().map(|line| line.number);
            if !page.more || before.is_none() {
                break;
            }
        }
        if is_empty {
            report("no operator has changed anything")?;
        }
        Ok(())
    }
}
