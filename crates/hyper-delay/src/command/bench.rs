use std::{
    io::{self, IsTerminal as _},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use hyper_delay::load::{self, Figures, Mode, Plan, Tally};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{
    Failure,
    remote::{Remote, print, print_json},
    value,
};

/// Put load on a running server, and print what came out.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  hyper-delay bench schedule --connections 1 --pipeline 64
  hyper-delay bench late --rate 1000 --seconds 10 --json
  hyper-delay bench deliver --server-pid $(pidof hyper-delay)")]
pub(super) struct Bench {
    /// What is measured:
    ///
    ///   schedule  tasks for later, which are cancelled in the end:
    ///             from each schedule to the ack that says it is on disk
    ///   deliver   tasks for now: from each schedule to its delivery; all are
    ///             acknowledged, and in the end all of that is on disk
    ///   late      tasks that fall due evenly: from when each is due to its delivery
    #[arg(value_name = "MODE", verbatim_doc_comment)]
    mode: Mode,
    /// How many connections; each has a route of its own.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    connections: u32,
    /// How many tasks of a connection are without their answer, at most.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pipeline: u32,
    /// How many tasks, over all connections. Of late: --rate times --seconds.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    tasks: u64,
    /// The length of each payload in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    payload_bytes: usize,
    /// How long after its schedule a task is due. By default 1h for schedule, 0s for deliver, 1s for late.
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    delay: Option<Duration>,
    /// How many tasks fall due each second, of late.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// For how many seconds they do, of late.
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Do not cancel the tasks of schedule.
    #[arg(long)]
    keep: bool,
    /// Have every ack of a delivery confirmed.
    #[arg(long)]
    confirm: bool,
    /// The process of the server, if it is on this machine, to tell what each task takes of its processors.
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Bench {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let tally = Arc::new(Tally::new());
        let plan = self.plan();
        let bar = tokio::spawn(progress(plan.tasks, tally.clone()));
        let figures = load::run(plan, tally, self.server_pid).await;
        bar.abort();
        // What the bar has drawn is taken away before anything is printed.
        let _ = bar.await;
        let figures = figures?;
        if self.json {
            print_json(&figures)?;
        } else {
            table(&figures)?;
        }
        match figures.early {
            0 => Ok(()),
            early => Err(Failure::Early { early }),
        }
    }

    fn plan(&self) -> Plan {
        let (delay, tasks) = match self.mode {
            Mode::Schedule => (Duration::from_secs(3_600), self.tasks),
            Mode::Deliver => (Duration::ZERO, self.tasks),
            Mode::Late => (
                Duration::from_secs(1),
                u64::from(self.rate) * u64::from(self.seconds),
            ),
        };
        Plan {
            address: self.remote.addr.clone(),
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
        }
    }
}

/// Shows how far it is, if somebody looks.
async fn progress(tasks: u64, tally: Arc<Tally>) {
    const STEP: Duration = Duration::from_millis(100);
    if !io::stderr().is_terminal() {
        return;
    }
    let bar = ProgressBar::with_draw_target(Some(tasks), ProgressDrawTarget::stderr());
    let style = "{bar:40} {pos}/{len} tasks, {per_sec}, {eta} left";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
    let _gone = Gone(bar.clone());
    loop {
        bar.set_position(tally.done());
        tokio::time::sleep(STEP).await;
    }
}

/// Takes the bar away when it is dropped.
struct Gone(ProgressBar);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn table(figures: &Figures) -> Result<(), Failure> {
    let (tasks, times) = match figures.mode {
        Mode::Schedule => ("scheduled, on disk", "schedule to ack"),
        Mode::Deliver => ("scheduled, delivered, acknowledged", "schedule to delivery"),
        Mode::Late => ("delivered", "lateness"),
    };
    let row = |name: &str, value: &str| print(&format!("{name:<36}{value}"));
    row(
        "connections, tasks under way on each",
        &format!(" {}, {}", figures.connections, figures.pipeline),
    )?;
    let seconds = figures.seconds;
    row(tasks, &format!(" {} in {seconds:.2} s", figures.tasks))?;
    if figures.mode != Mode::Late {
        let rate = format!(" {:.0}", figures.tasks_per_second);
        row("tasks a second", &rate)?;
    }
    for (name, time) in [
        ("p50", figures.times.p50),
        ("p99", figures.times.p99),
        ("max", figures.times.max),
    ] {
        row(
            &format!("{times}, {name}"),
            &format!(" {}", value::millis(time)),
        )?;
    }
    for (name, figure) in [
        (
            "processor time of the server, a task",
            figures.server_cpu_us_per_task,
        ),
        (
            "processor time of the load, a task",
            figures.load_cpu_us_per_task,
        ),
    ] {
        if let Some(figure) = figure {
            row(name, &format!(" {figure:.1} us"))?;
        }
    }
    if figures.again > 0 {
        row("delivered again", &format!(" {}", figures.again))?;
    }
    if figures.early > 0 {
        row("delivered early", &format!(" {}", figures.early))?;
    }
    Ok(())
}
