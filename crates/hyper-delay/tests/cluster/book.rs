//! What clients have asked for and were told, and what is wrong with it.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, atomic::AtomicBool},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::{ROUTES, faults::judges_leases, nodes::Map};

/// A copy that was sent before an ack was confirmed is noted at most this much later, on a quiet
/// machine. On another one a consumer can be late by any time: nothing is judged there.
const MOMENT: Duration = Duration::from_millis(250);

/// How long the rest of the tasks may take when all processes are well.
const PATIENCE: Duration = Duration::from_secs(120);

/// A route without service for this long is taken for stuck, however slow the machine is.
const MOST_WITHOUT_SERVICE: Duration = PATIENCE;

/// A route without service for this long is worth a look.
const LONG_WITHOUT_SERVICE: Duration = Duration::from_secs(9);

pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("the clock is set").as_millis() as u64
}

/// See the [module](self).
pub(crate) struct Book {
    nodes: Arc<Map>,
    tasks: Mutex<HashMap<String, Task>>,
    acks: Mutex<Vec<Route>>,
    pub(crate) produces: AtomicBool,
    pub(crate) consumes: AtomicBool,
    /// Nodes of release 0.3 are among them. They know no strict connections, and have no links with
    /// the others.
    pub(crate) is_upgrade: bool,
}

#[derive(Default)]
struct Task {
    at: u64,
    is_scheduled: bool,
    deliveries: u32,
    /// Its ack was confirmed at this moment.
    confirmed: Option<Instant>,
    /// It may be gone: an ack had no answer, or an earlier one has removed it.
    perhaps_gone: bool,
    /// Deliveries that began after that.
    too_late: u32,
    /// The same, from a node that had stopped.
    apart: u32,
    /// Further acks that have removed it.
    removed_again: u32,
    /// By how many milliseconds a delivery came before its time.
    early: Option<u64>,
}

/// The acknowledged schedules of a route.
#[derive(Clone)]
struct Route {
    last: Instant,
    /// The longest time without one since the last look.
    gap: Duration,
    number: u64,
}

impl Book {
    pub(crate) fn new(nodes: Arc<Map>) -> Self {
        let route = Route {
            last: Instant::now(),
            gap: Duration::ZERO,
            number: 0,
        };
        Self {
            nodes,
            tasks: Mutex::default(),
            acks: Mutex::new(vec![route; ROUTES]),
            produces: AtomicBool::new(true),
            consumes: AtomicBool::new(true),
            is_upgrade: false,
        }
    }

    /// The book of nodes of two releases.
    pub(crate) fn of_upgrade(nodes: Arc<Map>) -> Self {
        Self {
            is_upgrade: true,
            ..Self::new(nodes)
        }
    }

    /// Where a node listens, if it runs.
    pub(crate) fn address(&self, node: usize) -> Option<SocketAddr> {
        self.nodes.address(node)
    }

    /// Whether a node runs and was not stopped.
    pub(crate) fn is_well(&self, node: usize) -> bool {
        self.nodes.is_well(node)
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<String, Task>> {
        self.tasks.lock().expect("no client has panicked")
    }

    fn routes(&self) -> MutexGuard<'_, Vec<Route>> {
        self.acks.lock().expect("no client has panicked")
    }

    pub(crate) fn schedules(&self, id: &str, at: u64) {
        let task = Task {
            at,
            ..Task::default()
        };
        self.tasks().insert(id.to_owned(), task);
    }

    pub(crate) fn scheduled(&self, route: usize, id: &str) {
        if let Some(task) = self.tasks().get_mut(id) {
            task.is_scheduled = true;
        }
        let route = &mut self.routes()[route];
        route.gap = route.gap.max(route.last.elapsed());
        route.last = Instant::now();
        route.number += 1;
    }

    pub(crate) fn delivered(&self, id: &str, node: usize) {
        let (now, read) = (now(), Instant::now());
        let mut tasks = self.tasks();
        let task = tasks.get_mut(id).expect("only what was scheduled comes");
        task.deliveries += 1;
        if now < task.at {
            task.early = Some(task.at - now);
        }
        let late = task.confirmed.map(|it| read.saturating_duration_since(it));
        if late.is_some_and(|late| late > MOMENT) {
            println!("{id} came from node {node}, {late:?} after its ack was confirmed");
            match self.nodes.had_stopped(node) {
                true => task.apart += 1,
                false => task.too_late += 1,
            }
        }
    }

    pub(crate) fn acked(&self, id: &str, removed: bool) {
        let mut tasks = self.tasks();
        let task = tasks.get_mut(id).expect("only what was scheduled is acked");
        match removed {
            true if task.confirmed.is_some() => task.removed_again += 1,
            true => task.confirmed = Some(Instant::now()),
            false => task.perhaps_gone = true,
        }
    }

    pub(crate) fn perhaps_acked(&self, id: &str) {
        if let Some(task) = self.tasks().get_mut(id) {
            task.perhaps_gone = true;
        }
    }

    /// Begins to measure for how long no schedule of a route is acknowledged.
    pub(crate) fn begin_to_measure(&self) {
        for route in self.routes().iter_mut() {
            route.gap = Duration::ZERO;
        }
    }

    /// Waits until every route has had an acknowledged schedule from now on. Returns the longest
    /// time without one since the measurement began. `look` is told once which routes have had none
    /// for long.
    ///
    /// # Errors
    ///
    /// The routes that have had none for very long.
    pub(crate) fn measured(&self, look: impl FnOnce(&[usize])) -> Result<Duration, Vec<usize>> {
        let before: Vec<u64> = self.routes().iter().map(|route| route.number).collect();
        let begun = Instant::now();
        let mut look = Some(look);
        loop {
            let routes = self.routes();
            let both = routes.iter().zip(&before).enumerate();
            let waits = both.filter(|(_, (route, before))| route.number <= *before + 1);
            let waits: Vec<usize> = waits.map(|(route, _)| route).collect();
            if waits.is_empty() {
                let gaps = routes.iter().map(|route| route.gap);
                return Ok(gaps.max().unwrap_or_default());
            }
            drop(routes);
            if begun.elapsed() > MOST_WITHOUT_SERVICE {
                return Err(waits);
            }
            if begun.elapsed() > LONG_WITHOUT_SERVICE
                && let Some(look) = look.take()
            {
                look(&waits);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The tasks that were acknowledged and are neither done nor perhaps.
    fn open(&self) -> Vec<String> {
        let tasks = self.tasks();
        let open = tasks
            .iter()
            .filter(|(_, it)| it.is_scheduled && it.confirmed.is_none() && !it.perhaps_gone);
        open.map(|(id, _)| id.clone()).collect()
    }

    pub(crate) fn wait_until_all_are_done(&self) {
        let begun = Instant::now();
        while !self.open().is_empty() && begun.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Prints what has happened.
    ///
    /// # Panics
    ///
    /// If a promise was broken.
    pub(crate) fn report(&self) {
        let lost = self.open();
        let tasks = self.tasks();
        let sum = |count: fn(&Task) -> u32| tasks.values().map(count).sum::<u32>();
        let number = |is: fn(&Task) -> bool| tasks.values().filter(|task| is(task)).count();
        let early = number(|task| task.early.is_some());
        let too_late = sum(|task| task.too_late);
        println!(
            "{} tasks scheduled, {} deliveries, {} acks confirmed, {} unknown; {} lost, {early} \
             early, {too_late} begun after a confirmed ack, {} more by nodes that had stopped",
            number(|task| task.is_scheduled),
            sum(|task| task.deliveries),
            number(|task| task.confirmed.is_some()),
            number(|task| task.confirmed.is_none() && task.perhaps_gone),
            lost.len(),
            sum(|task| task.apart),
        );
        let no_ids: &[String] = &[];
        assert_eq!(lost, no_ids, "lost");
        assert_eq!(early, 0);
        if self.is_upgrade {
            assert_eq!(sum(|task| task.removed_again), 0, "removed once more");
        }
        if judges_leases() {
            assert_eq!(too_late, 0);
        }
    }
}
