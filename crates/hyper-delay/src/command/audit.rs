use clap::Args;

use super::{
    Failure,
    remote::{Remote, print, print_json},
    value,
};

/// Print what operators did, the newest first: the last 1,000 changes.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay audit")]
pub(super) struct Audit {
    /// The most lines to print. Default: all.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print a line of JSON for each change, with the fields of the protocol.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Audit {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let client = self.remote.connect().await?;
        let mut left = self.limit.unwrap_or(usize::MAX);
        let mut before = None;
        while left > 0 {
            let mut query = client.audit().limit(1_000);
            if let Some(number) = before {
                query = query.before(number);
            }
            let page = query.await?;
            for line in page.lines.iter().take(left) {
                if self.json {
                    print_json(line)?;
                    continue;
                }
                let at = value::rfc_3339(line.at_millis);
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
                if let Some(reason) = &line.reason {
                    text += &format!(", reason {reason:?}");
                }
                for (what, at) in [("from", line.from_millis), ("until", line.until_millis)] {
                    if let Some(at) = at {
                        text += &format!(", {what} {}", value::rfc_3339(at));
                    }
                }
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
            left = left.saturating_sub(page.lines.len());
            before = page.lines.last().map(|line| line.number);
            if !page.more || before.is_none() {
                break;
            }
        }
        Ok(())
    }
}
