use clap::Args;

use super::{
    CommandError,
    output::{print, print_json, report},
    remote::Remote,
    time_format,
};

/// Print how many tasks are due in each of the next minutes, hours and days, if any.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay future")]
pub(super) struct FutureCounts {
    /// Print all counts as one line of JSON, with the fields of the protocol.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl FutureCounts {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        const MINUTE: u64 = 60_000;
        let future = self.remote.connect().await?.forecast().await?;
        if self.json {
            return print_json(&future);
        }
        let mut is_empty = true;
        for (name, from, length, tasks) in [
            ("minute", future.minute_millis, MINUTE, &future.minutes),
            ("hour", future.hour_millis, 60 * MINUTE, &future.hours),
            ("day", future.day_millis, 24 * 60 * MINUTE, &future.days),
        ] {
            for (place, count) in (0..).zip(tasks).filter(|(_, count)| **count > 0) {
                is_empty = false;
                let at: u64 = from + place * length;
                print(&format!(
                    "{name} of {}: {count}",
                    time_format::format_rfc_3339(at)
                ))?;
            }
        }
        if is_empty {
            report("no task is due in the next year")?;
        }
        if let Some(until) = future.counted_until_millis {
            let until = time_format::format_rfc_3339(until);
            print(&format!(
                "the server is counting; tasks from {until} on are missing"
            ))?;
        }
        Ok(())
    }
}
