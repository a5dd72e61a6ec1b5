//! What goes wrong, one after the other.

use std::{sync::Arc, thread, time::Duration};

use super::{
    LEASE,
    book::{Book, now},
    nodes::{NODES, Nodes},
    proxy::Passes,
};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A node is killed, and started again.
    Kill,
    /// A node ends in order, and is started again.
    End,
    /// A node stops for some time.
    Stop,
    /// A node reaches etcd no longer.
    EtcdGone,
    /// The others reach a node no longer.
    LinksGone,
    /// A member of etcd is killed, and started again.
    EtcdKilled,
    /// A member of etcd stops for some time.
    EtcdStopped,
    /// The leader of etcd is killed, and a node with it.
    BothKilled,
    /// The disk of a node fills up to its last byte, and has room again.
    DiskFull,
}

const ALL: [Fault; 9] = [
    Fault::Kill,
    Fault::End,
    Fault::Stop,
    Fault::EtcdGone,
    Fault::LinksGone,
    Fault::EtcdKilled,
    Fault::EtcdStopped,
    Fault::BothKilled,
    Fault::DiskFull,
];

/// What a quiet machine may add to the leases that are judged.
const ALLOWANCE: Duration = Duration::from_secs(2);

impl Fault {
    /// The longest time without service that the documents promise, with an allowance.
    fn limit(self) -> Duration {
        let leases = match self {
            Self::EtcdKilled | Self::EtcdStopped | Self::BothKilled => 4,
            _ => 2,
        };
        leases * LEASE + ALLOWANCE
    }
}

/// Whether the time without service is judged: `CLUSTER_JUDGES_LEASES` is `1`. Otherwise only a
/// route that gets no service at all fails the test, on a machine of any speed.
pub(crate) fn judges_leases() -> bool {
    super::number("CLUSTER_JUDGES_LEASES").is_some_and(|judges| judges != 0)
}

/// What can go wrong: everything, or what `CLUSTER_KINDS` names, such as `Kill,DiskFull`.
fn kinds() -> Vec<Fault> {
    let Ok(names) = std::env::var("CLUSTER_KINDS") else {
        return ALL.to_vec();
    };
    let named = |name: &str| {
        let fault = ALL.iter().find(|fault| format!("{fault:?}") == name);
        *fault.unwrap_or_else(|| panic!("{name} is none of {ALL:?}"))
    };
    names.split(',').map(named).collect()
}

/// See the [module](self).
pub(crate) struct Faults {
    nodes: Nodes,
    book: Arc<Book>,
    random: fastrand::Rng,
    number: usize,
}

impl Faults {
    pub(crate) fn new(nodes: Nodes, book: Arc<Book>, random: fastrand::Rng, number: usize) -> Self {
        Self {
            nodes,
            book,
            random,
            number,
        }
    }

    /// Lets everything go wrong, one after the other. Afterwards all processes are well. Returns
    /// which kinds of faults interrupted the service for longer than is promised, if that is judged.
    pub(crate) fn run(&mut self) -> Vec<String> {
        let mut longest: Vec<(Fault, Duration)> = Vec::new();
        self.measured();
        let kinds = kinds();
        for number in 0..self.number {
            let fault = match kinds.get(number) {
                Some(fault) => *fault,
                None => *self.random.choice(&kinds).expect("there is one"),
            };
            self.book.begin_to_measure();
            let what = self.carry_out(fault);
            let gap = self.measured();
            println!("{number}: {fault:?} {what}: {gap:.2?} without service");
            if gap > fault.limit() {
                println!(
                    "that is long; it is {} now:\n{}",
                    now(),
                    self.nodes.state(&[])
                );
            }
            longest.push((fault, gap));
            thread::sleep(Duration::from_millis(self.random.u64(0..1_500)));
        }
        let mut too_long = Vec::new();
        for fault in ALL {
            let gaps = longest.iter().filter(|(it, _)| *it == fault);
            let mut gaps: Vec<Duration> = gaps.map(|(_, gap)| *gap).collect();
            gaps.sort_unstable();
            if let (Some(median), Some(longest)) = (gaps.get(gaps.len() / 2), gaps.last()) {
                println!(
                    "{fault:?}: {} times, without service for {median:.2?}, at most {longest:.2?}",
                    gaps.len()
                );
                let most = fault.limit();
                if *longest > most && judges_leases() {
                    too_long.push(format!("{fault:?}: {longest:.2?} is more than {most:?}"));
                }
            }
        }
        too_long
    }

    /// Waits until all routes have service. Returns for how long one had none.
    fn measured(&self) -> Duration {
        let state = |routes: &[usize]| {
            let state = self.nodes.state(routes);
            format!("at {}, no service on {routes:?}:\n{state}", now())
        };
        let measured = self.book.measured(|routes| println!("{}", state(routes)));
        measured.unwrap_or_else(|routes| panic!("{}", state(&routes)))
    }

    /// Lets it go wrong and mends it. Returns where.
    fn carry_out(&mut self, fault: Fault) -> String {
        let node = self.random.usize(0..NODES);
        let mut long = LEASE.mul_f64(0.2 + 2.0 * self.random.f64());
        let passes = match self.random.bool() {
            true => Passes::Later,
            false => Passes::Nothing,
        };
        let nodes = &mut self.nodes;
        match fault {
            Fault::Kill => {
                nodes.kill(node);
                thread::sleep(long);
                nodes.run(node);
                format!("node {node} for {long:.1?}")
            }
            Fault::End => {
                nodes.end(node);
                nodes.run(node);
                format!("node {node}")
            }
            Fault::Stop => {
                nodes.stop(node);
                thread::sleep(long);
                nodes.go_on(node);
                format!("node {node} for {long:.1?}")
            }
            Fault::EtcdGone => {
                let set = |passes| nodes.to_etcd(node).iter().for_each(|it| it.set(passes));
                set(passes);
                thread::sleep(long);
                set(Passes::All);
                format!("from node {node} for {long:.1?}, {passes:?} passes")
            }
            Fault::LinksGone => {
                nodes.link(node).set(passes);
                // As long as it lasts, the other nodes cannot serve what this one leads.
                long = long.min(LEASE);
                thread::sleep(long);
                nodes.link(node).set(Passes::All);
                format!("to node {node} for {long:.1?}, {passes:?} passes")
            }
            Fault::EtcdKilled | Fault::EtcdStopped => {
                let leader = nodes.etcd.leader();
                let member = match (self.random.bool(), leader) {
                    (true, Some(leader)) => leader,
                    _ => node,
                };
                let is_leader = leader == Some(member);
                if fault == Fault::EtcdKilled {
                    nodes.etcd.kill(member);
                    thread::sleep(long);
                    nodes.etcd.restart(member);
                } else {
                    nodes.etcd.signal(member, "STOP");
                    thread::sleep(long);
                    nodes.etcd.signal(member, "CONT");
                }
                format!("member {member} for {long:.1?}, leader: {is_leader}")
            }
            Fault::DiskFull => {
                // As long as it lasts, the node refuses new tasks.
                long = long.min(LEASE);
                let Some(disk) = nodes.disk(node) else {
                    return "NOTE: none can be mounted".to_owned();
                };
                disk.fill();
                thread::sleep(long);
                disk.free();
                format!("of node {node} for {long:.1?}")
            }
            Fault::BothKilled => {
                let leader = nodes.etcd.leader().unwrap_or(node);
                nodes.etcd.kill(leader);
                nodes.kill(node);
                thread::sleep(long);
                nodes.etcd.restart(leader);
                nodes.run(node);
                format!("member {leader} and node {node} for {long:.1?}")
            }
        }
    }
}
