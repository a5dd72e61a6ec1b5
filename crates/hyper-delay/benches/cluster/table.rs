//! The journal alone, a single server and a cluster: a table of medians over several rounds.

use hyper_delay::internals::load::Mode;
use testkit::{Server, Start};

use crate::{
    Failure,
    cluster::{Cluster, PROGRAM},
    journal::{self, ENTRY, Journal, SHARDS},
    load::{Load, Measured, PAYLOAD, run as put},
    median::median,
};

const ROUNDS: usize = 5;

/// A schedule with a payload of [`PAYLOAD`] bytes in an entry, in bytes. See `docs/cluster.md`.
const SCHEDULE: f64 = 345.0;

/// Durable schedules.
const SCHEDULES: Load = Load {
    mode: Mode::Schedule,
    connections: 18,
    pipeline: 256,
    tasks: 180_000,
};

/// Schedules, deliveries and acks.
const THROUGH: Load = Load {
    mode: Mode::Deliver,
    connections: 18,
    pipeline: 64,
    tasks: 60_000,
};

struct Round {
    /// Entries per second of the journal alone.
    raw: f64,
    /// Schedules, and schedules with their deliveries and acks.
    single: [Measured; 2],
    cluster: [Measured; 2],
    /// Schedules for each entry of the cluster.
    per_entry: f64,
}

impl Round {
    async fn run(
        journal: &mut Journal,
        server: &Server,
        cluster: &Cluster,
    ) -> Result<Self, Failure> {
        let raw = journal::rate(&journal.append().await?);
        let alone = [server.address];
        let nodes = cluster.addresses();
        let processes = [cluster.nodes(), cluster.etcd.ids()].concat();
        let single = [
            put(SCHEDULES, &alone, &[server.id()]).await?,
            put(THROUGH, &alone, &[server.id()]).await?,
        ];
        let before = cluster.entries()?;
        let schedules = put(SCHEDULES, &nodes, &processes).await?;
        let entries = cluster.entries()? - before;
        let through = put(THROUGH, &nodes, &processes).await?;
        Ok(Self {
            raw,
            single,
            cluster: [schedules, through],
            per_entry: SCHEDULES.tasks as f64 / entries.max(1) as f64,
        })
    }

    /// The schedules that full entries of the journal alone would carry in a second.
    fn ceiling(&self) -> f64 {
        self.raw * ENTRY as f64 / SCHEDULE
    }
}

pub(crate) async fn run() -> Result<(), Failure> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let path = |name: &str| -> Result<_, Failure> {
        let path = folder.path().join(name);
        std::fs::create_dir(&path)?;
        Ok(path)
    };
    let mut journal = Journal::start(&path("journal")?, SHARDS).await?;
    let server = Start::new(PROGRAM, &path("single")?).run();
    let cluster = Cluster::start(&path("cluster")?)?;
    let mut rounds = Vec::new();
    for number in 1..=ROUNDS {
        eprintln!("round {number} of {ROUNDS}");
        rounds.push(Round::run(&mut journal, &server, &cluster).await?);
    }
    print(&rounds);
    Ok(())
}

fn print(rounds: &[Round]) {
    let middle = |pick: &dyn Fn(&Round) -> f64| median(rounds.iter().map(pick));
    println!("## A cluster, a single server, and the journal alone\n");
    println!(
        "Medians of {ROUNDS} rounds with payloads of {PAYLOAD} bytes; they take turns in each \
         round. The journal alone: {:.0} entries of {} KiB per second from {SHARDS} writers, room \
         for {:.0} schedules of {SCHEDULE} bytes. In the cluster an entry carries {:.0} \
         schedules.\n",
        middle(&|round| round.raw),
        ENTRY >> 10,
        middle(&Round::ceiling),
        middle(&|round| round.per_entry),
    );
    let ratio = middle(&|round| round.cluster[0].tasks_per_second / round.ceiling());
    println!("| | cluster | single server | target |");
    println!("| --- | --- | --- | --- |");
    let row = |name: &str, load: usize, pick: fn(&Measured) -> f64, target: &str| {
        let cluster = middle(&|round| pick(&round.cluster[load]));
        let single = middle(&|round| pick(&round.single[load]));
        println!("| {name} | **{cluster:.0}** | {single:.0} | {target} |");
    };
    let millis = |pick: fn(&Measured) -> f64| pick;
    let p50 = millis(|it| it.times.p50.as_secs_f64() * 1e3);
    let p99 = millis(|it| it.times.p99.as_secs_f64() * 1e3);
    let shape = |load: Load| format!("{} connections × {}", load.connections, load.pipeline);
    let of = shape(SCHEDULES);
    row(
        &format!("durable schedules/s, {of}"),
        0,
        |it| it.tasks_per_second,
        "30,000",
    );
    row("p50 of their ack, ms", 0, p50, "");
    row("p99 of their ack, ms", 0, p99, "");
    let of = shape(THROUGH);
    row(
        &format!("schedule, deliver, ack; tasks/s, {of}"),
        1,
        |it| it.tasks_per_second,
        "",
    );
    row("p50 from schedule to ack, ms", 1, p50, "");
    row("p99 from schedule to ack, ms", 1, p99, "");
    println!(
        "| schedules/s, part of what the journal alone has room for | **{:.0} %** | | 60 %, if below 30,000 |",
        ratio * 100.0
    );
    println!("\nProcessor time in microseconds per task:\n");
    println!("| process | schedules | schedules, deliveries, acks |");
    println!("| --- | --- | --- |");
    let members = rounds[0].cluster[0].cpu.len() / 2;
    let cpu = |name: String, pick: &dyn Fn(&Measured) -> f64| {
        let [one, all] = [0, 1].map(|load| middle(&|round: &Round| pick(&round.cluster[load])));
        println!("| {name} | {one:.1} | {all:.1} |");
    };
    for node in 0..members {
        cpu(format!("node {node}"), &|it| it.cpu[node]);
    }
    for member in 0..members {
        cpu(format!("etcd {member}"), &|it| it.cpu[members + member]);
    }
    cpu("the load".to_owned(), &|it| it.load_cpu);
    let [one, all] = [0, 1].map(|load| middle(&|round| round.single[load].cpu[0]));
    println!("| single server | {one:.1} | {all:.1} |");
}
