//! What a cluster costs: the journal alone in etcd, a single server, and three nodes with three
//! members of etcd, in turn. All processes and the load are on this machine.
//!
//! `cargo bench -p hyper-delay --bench cluster` takes two minutes; `-- journal`
//! measures the journal alone. `-- sustain 600` puts a full load on the cluster for 600 seconds and
//! shows the memory of all processes.

mod cluster;
mod journal;
mod load;
#[path = "../store/median.rs"]
mod median;
#[path = "../memory/resident.rs"]
mod resident;
mod sustain;
mod table;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let Some(words) = testkit::bench::words() else {
        println!("run it with: cargo bench -p hyper-delay --bench cluster");
        return Ok(());
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // One thread makes the whole load.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match words[..] {
        [] => runtime.block_on(table::run()),
        ["journal"] => runtime.block_on(journal::run()),
        ["sustain", seconds] => {
            let seconds = seconds
                .parse()
                .map_err(|_| format!("{seconds} is no number of seconds: give one such as 600"))?;
            runtime.block_on(sustain::run(seconds))
        }
        _ => Err("give nothing, `journal`, or `sustain` and a number of seconds".into()),
    }
}
