//! Tasks whose rounds fail at leaders of both releases.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};
use testkit::request::{later, now};

use super::{Release, client::Client};

/// Enough that every shard has one.
const ROUTES: usize = 16;

/// The delay after a nack.
const DELAY: u64 = 36_000_000;

/// A route and an id.
type Name = (String, String);

/// What is known of the last failure of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastFailure {
    /// There is none since the task was scheduled or replaced.
    None,
    /// A leader of this release has taken the nack.
    SeenBy(Release),
    /// A request had no answer, or the leader was lost: anything can be.
    Unknown,
}

/// The tasks that may be on disk.
#[derive(Default)]
pub(crate) struct Retries {
    tasks: BTreeMap<Name, LastFailure>,
}

fn route(number: usize) -> String {
    format!("retrying-{number}")
}

fn name(line: &Value) -> Name {
    let text = |field: &str| line[field].as_str().expect("it has both").to_owned();
    (text("route_key"), text("id"))
}

fn request(kind: &str, (route, id): &Name) -> Value {
    json!({"kind": kind, "route_key": route, "id": id})
}

fn schedule((route, id): &Name, fire_at: u64, replace: bool) -> Value {
    json!({
        "kind": "schedule",
        "route_key": route,
        "id": id,
        "fire_at": fire_at,
        "payload_base64": if replace { "bmV3" } else { "" },
        "replace": replace,
    })
}

/// Sends a request for each name, and returns the replies.
fn ask_all(
    client: &mut Client,
    names: &[Name],
    request: impl Fn(&Name) -> Value,
) -> Vec<(Name, Value)> {
    let replies = client.ask_all(names.iter().map(request));
    names.iter().cloned().zip(replies).collect()
}

impl Retries {
    /// Schedules a task on each route, and changes some that are there. Then lets a round of each task
    /// that is due fail. A node of the other release leads the other routes.
    pub(crate) fn fail(&mut self, client: &mut Client, release: Release, step: usize) {
        self.change(client, step);
        let id = |number| format!("{number}-{step}-{release:?}");
        let new: Vec<Name> = (0..ROUTES)
            .map(|number| (route(number), id(number)))
            .collect();
        let mut due = BTreeSet::new();
        for (name, reply) in ask_all(client, &new, |name| schedule(name, 1, false)) {
            self.tasks.insert(name.clone(), LastFailure::Unknown);
            if reply["kind"] == "ack" {
                due.insert(name);
            }
        }
        let routes: Vec<Name> = due.iter().cloned().collect();
        let register = |(route, _): &Name| json!({"kind": "register", "route_key": route});
        ask_all(client, &routes, register);
        // A lost leader delivers nothing more.
        while !due.is_empty()
            && let Some(delivery) = client.delivery(Duration::from_secs(5))
        {
            due.remove(&self.nack(client, &delivery, release));
        }
        let unregister = |(route, _): &Name| json!({"kind": "unregister", "route_key": route});
        ask_all(client, &routes, unregister);
        while let Some(delivery) = client.delivery(Duration::ZERO) {
            self.nack(client, &delivery, release);
        }
    }

    /// Cancels a task of an earlier step and replaces another one, of each route.
    fn change(&mut self, client: &mut Client, step: usize) {
        let mut of_routes: BTreeMap<&str, Vec<&Name>> = BTreeMap::new();
        for name in self.tasks.keys() {
            of_routes.entry(&name.0).or_default().push(name);
        }
        let chosen = |at: usize| -> Vec<Name> {
            let names = of_routes.values();
            let one = names.filter_map(|names| names.get(at % names.len().max(3)));
            one.map(|name| (*name).clone()).collect()
        };
        let (cancelled, replaced) = (chosen(step), chosen(step + 1));
        for (name, reply) in ask_all(client, &cancelled, |name| request("cancel", name)) {
            match reply["kind"] == "cancelled" {
                true => self.tasks.remove(&name),
                false => self.tasks.insert(name, LastFailure::Unknown),
            };
        }
        let at = later();
        for (name, reply) in ask_all(client, &replaced, |name| schedule(name, at, true)) {
            let failure = match reply["kind"] == "ack" {
                true => LastFailure::None,
                false => LastFailure::Unknown,
            };
            self.tasks.insert(name, failure);
        }
    }

    /// Fails the round of a delivery, and waits until that is on disk. A node gives a nack only to
    /// leaders of its release.
    fn nack(&mut self, client: &mut Client, delivery: &Value, release: Release) -> Name {
        let name = name(delivery);
        let mut nack = request("nack", &name);
        nack["attempt"] = delivery["attempt"].clone();
        nack["delay_ms"] = DELAY.into();
        nack["reason"] = format!("{release:?}").into();
        client.send(&nack);
        let end = now() + DELAY / 2;
        let is_written = |task: &Value| task["due"].as_u64().is_some_and(|due| due > end);
        let failure = match client.until(&request("get", &name), is_written) {
            Some(_) => LastFailure::SeenBy(release),
            None => LastFailure::Unknown,
        };
        self.tasks.insert(name.clone(), failure);
        name
    }

    /// Checks that the lists have exactly the tasks that retry, and their failures.
    ///
    /// # Panics
    ///
    /// If they have not after some time.
    pub(crate) fn check(&self, client: &mut Client) {
        let mut retrying: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut sure = 0;
        for (name, known) in &self.tasks {
            let task = client.until(&request("get", name), |task| task["kind"] == "task");
            let task = task.expect("every shard has a leader");
            let reason = &task["last_failure"]["reason"];
            match known {
                LastFailure::None => assert!(task.get("last_failure").is_none(), "{task}"),
                LastFailure::SeenBy(Release::V0_3) => assert!(reason.is_null(), "{task}"),
                LastFailure::SeenBy(release) => assert_eq!(*reason, format!("{release:?}")),
                LastFailure::Unknown => {}
            }
            sure += usize::from(*known != LastFailure::Unknown);
            let ids = retrying.entry(&name.0).or_default();
            if task.get("last_failure").is_some() {
                ids.insert(&name.1);
            }
        }
        for (route, ids) in &retrying {
            // The leader compares the index with the tasks in the background.
            let stats = json!({"kind": "stats", "route_key": route});
            let is_number = |stats: &Value| stats["routes"][0]["retrying"] == ids.len();
            let counted = client.until(&stats, is_number);
            assert!(counted.is_some(), "{route}: {}", client.ask(&stats));
            let list = json!({"kind": "list", "route_key": route, "state": "retrying"});
            let listed = client.until(&list, |reply| reply["kind"] == "list");
            let listed = listed.expect("every shard has a leader");
            assert_eq!(listed["more"], false, "{listed}");
            let listed = listed["tasks"].as_array().expect("it has tasks").iter();
            let listed: BTreeSet<_> = listed.filter_map(|task| task["id"].as_str()).collect();
            assert_eq!(listed, *ids, "{route}");
        }
        let number: usize = retrying.values().map(BTreeSet::len).sum();
        let tasks = self.tasks.len();
        println!("the lists of retrying tasks have {number} of {tasks} tasks; {sure} were known");
        assert!(number > 0 && 2 * sure > tasks, "failures were seen");
    }
}
