use std::{
    io::{self, IsTerminal as _},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{
    CommandError,
    output::{print, print_json},
    remote::Remote,
    time_format,
};
use crate::load::{self, Figures, LoadMode, LoadPlan, LoadTally};

/// Put load on a running server and print the measurements.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay bench schedule --connections 1 --pipeline 64
  hyper-delay bench late --rate 1000 --seconds 10 --json
  hyper-delay bench deliver --server-pid $(pidof hyper-delay)")]
pub(super) struct Bench {
    /// The time to measure:
    ///
    ///   schedule  from a schedule to the ack that confirms it is on disk;
    ///             the tasks are due later and are cancelled at the end
    ///   deliver   from a schedule to the delivery; the tasks are due now and are
    ///             acknowledged, and their removals are on disk at the end
    ///   late      from the time a task is due to its delivery; the tasks fall due
    ///             at an even rate
    #[arg(value_name = "MODE", verbatim_doc_comment)]
    mode: LoadMode,
    /// Number of connections. Each schedules on a route of its own.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    connections: u32,
    /// Maximum number of pending tasks on each connection. Ignored by late.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pipeline: u32,
    /// Number of tasks over all connections. late uses --rate times --seconds instead.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    tasks: u64,
    /// Length of each payload in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    payload_bytes: usize,
    /// Time from scheduling a task until it is due. Default: 1h for schedule, 0s for deliver, 1s
    /// for late.
    #[arg(long, value_name = "TIME", value_parser = time_format::parse_duration)]
    delay: Option<Duration>,
    /// Tasks that fall due per second. Used by late only.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Number of seconds in which tasks fall due. Used by late only.
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Do not cancel the tasks at the end. Used by schedule only.
    #[arg(long)]
    keep: bool,
    /// Request a confirmation of every ack, not only of the last one on each connection.
    #[arg(long)]
    confirm: bool,
    /// Process id of a server on this machine: also print its processor time per task.
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// Print the measurements as one line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Bench {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let tally = Arc::new(LoadTally::new());
        let plan = self.plan()?;
        let bar = tokio::spawn(progress(plan.tasks, tally.clone()));
        let figures = load::run(plan, tally, self.server_pid).await;
        bar.abort();
        // Waits until the bar is cleared, so that it does not overwrite the output.
        let _ = bar.await;
        let figures = figures?;
        if self.json {
            print_json(&figures)?;
        } else {
            table(&figures)?;
        }
        match figures.early {
            0 => Ok(()),
            early => Err(CommandError::Early { early }),
        }
    }

    fn plan(&self) -> Result<LoadPlan, CommandError> {
        let (delay, tasks) = match self.mode {
            LoadMode::Schedule => (Duration::from_secs(3_600), self.tasks),
            LoadMode::Deliver => (Duration::ZERO, self.tasks),
            LoadMode::Late => (
                Duration::from_secs(1),
                u64::from(self.rate) * u64::from(self.seconds),
            ),
        };
        Ok(LoadPlan {
            address: self.remote.addr.clone(),
            tls: self.remote.tls(),
            token: self.remote.token()?,
            mode: self.mode,
            connections: self.connections,
            pipeline: self.pipeline,
            tasks,
            payload_bytes: self.payload_bytes,
            delay: self.delay.unwrap_or(delay),
            rate: self.rate,
            keep: self.keep,
            confirm: self.confirm,
            name: None,
        })
    }
}

/// Shows a progress bar if standard error is a terminal. Never resolves in that case.
async fn progress(tasks: u64, tally: Arc<LoadTally>) {
    const STEP: Duration = Duration::from_millis(100);
    if !io::stderr().is_terminal() {
        return;
    }
    let bar = ProgressBar::with_draw_target(Some(tasks), ProgressDrawTarget::stderr());
    let style = "{bar:40} {pos}/{len} tasks, {per_sec}, {eta} left";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
    let _cleared = ClearOnDrop(bar.clone());
    loop {
        bar.set_position(tally.done());
        tokio::time::sleep(STEP).await;
    }
}

/// Clears the bar when it is dropped.
struct ClearOnDrop(ProgressBar);

impl Drop for ClearOnDrop {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn table(figures: &Figures) -> Result<(), CommandError> {
    let (tasks, times) = match figures.mode {
        LoadMode::Schedule => ("scheduled, on disk", "schedule to ack"),
        LoadMode::Deliver => ("scheduled, delivered, acknowledged", "schedule to delivery"),
        LoadMode::Late => ("delivered", "lateness"),
    };
    let row = |name: &str, value: &str| print(&format!("{name:<36}{value}"));
    row(
        "connections, pending tasks on each",
        &format!(" {}, {}", figures.connections, figures.pipeline),
    )?;
    let seconds = figures.seconds;
    row(tasks, &format!(" {} in {seconds:.2} s", figures.tasks))?;
    if figures.mode != LoadMode::Late {
        let rate = format!(" {:.0}", figures.tasks_per_second);
        row("tasks per second", &rate)?;
    }
    for (name, time) in [
        ("p50", figures.times.p50),
        ("p99", figures.times.p99),
        ("max", figures.times.max),
    ] {
        row(
            &format!("{times}, {name}"),
            &format!(" {}", time_format::format_millis(time)),
        )?;
    }
    for (name, figure) in [
        (
            "processor time of the server per task",
            figures.server_cpu_us_per_task,
        ),
        (
            "processor time of the load per task",
            figures.load_cpu_us_per_task,
        ),
    ] {
        if let Some(figure) = figure {
            row(name, &format!(" {figure:.1} us"))?;
        }
    }
    if figures.again > 0 {
        row("redeliveries", &format!(" {}", figures.again))?;
    }
    if figures.early > 0 {
        row("early deliveries", &format!(" {}", figures.early))?;
    }
    Ok(())
}
