//! Replace, cancel, nack and ack while a delivery is in flight, in every order.

use serde_json::{Value, json};
use testkit::{
    Peer,
    request::{echo_with, later, replace},
};

use crate::server::Server;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Replace,
    Cancel,
    Nack,
    Ack,
}

use Step::{Ack, Cancel, Nack, Replace};

/// A model of the protocol for one task that was delivered once.
#[derive(Debug)]
struct Model {
    /// The current task, if any: whether it is the delivered revision.
    task: Option<bool>,
    /// Whether the delivery is unanswered.
    held: bool,
    /// The remembered number of rounds of the name.
    rounds: u64,
    unknown: u64,
}

impl Model {
    fn request(step: Step, delivery: &Value) -> String {
        match step {
            Replace => {
                let at = format!(r#""fire_at":{}"#, later());
                replace("a", "1", "bmV3").replace(r#""fire_at":1"#, &at)
            }
            Cancel => r#"{"kind":"cancel","id":"1","route_key":"a"}"#.to_owned(),
            Nack => echo_with("nack", delivery, r#""delay_ms":3600000"#),
            Ack => echo_with("ack", delivery, r#""confirm":true"#),
        }
    }

    /// Takes a step, and returns the fields that its reply must have.
    fn take(&mut self, step: Step) -> Vec<(&'static str, Value)> {
        let in_flight = self.held && self.task == Some(true);
        match step {
            Replace => {
                self.task = Some(false);
                vec![("kind", json!("ack"))]
            }
            Cancel => {
                let found = self.task.take().is_some();
                if found {
                    self.rounds = 0;
                }
                vec![
                    ("kind", json!("cancelled")),
                    ("found", json!(found)),
                    ("in_flight", json!(in_flight)),
                ]
            }
            Nack => {
                self.unknown += u64::from(!self.held);
                self.held = false;
                vec![]
            }
            Ack => {
                self.unknown += u64::from(!self.held);
                if in_flight {
                    self.task = None;
                }
                self.held = false;
                vec![("kind", json!("acked")), ("removed", json!(in_flight))]
            }
        }
    }
}

/// Returns all orders of one to four steps.
fn orders() -> Vec<Vec<Step>> {
    let mut all = vec![vec![]];
    let mut place = 0;
    while place < all.len() {
        for step in [Replace, Cancel, Nack, Ack] {
            if !all[place].contains(&step) {
                let longer = all[place].iter().copied().chain([step]).collect();
                all.push(longer);
            }
        }
        place += 1;
    }
    all.split_off(1)
}

fn start(server: &Server) -> (Peer, Value, Model) {
    let mut consumer = server.consumer("a");
    consumer.due("a", "1");
    let delivery = consumer.delivery();
    let model = Model {
        task: Some(true),
        held: true,
        rounds: 1,
        unknown: 0,
    };
    (consumer, delivery, model)
}

/// Asserts what is left, and that the next revision has the next attempt.
fn end(consumer: &mut Peer, delivery: &Value, mut model: Model, order: &[Step], before: u64) {
    let stats = consumer.all_stats();
    assert_eq!(
        stats["waiting"],
        u64::from(model.task.is_some()),
        "{order:?}"
    );
    assert_eq!(stats["unknown_acks"], before + model.unknown, "{order:?}");
    let ack = consumer.ask(&replace("a", "1", "bGFzdA=="));
    assert_eq!(ack["kind"], "ack", "{order:?}");
    if model.held {
        consumer.quiet();
        model.task = Some(false);
        model.take(Ack);
        assert!(!consumer.removes(delivery), "{order:?}");
    }
    let last = consumer.delivery();
    assert_eq!(last["payload_base64"], "bGFzdA==", "{order:?}");
    assert_eq!(last["attempt"], model.rounds + 1, "{order:?}");
    consumer.quiet();
    let cancelled = consumer.ask(r#"{"kind":"cancel","id":"1","route_key":"a"}"#);
    assert_eq!(cancelled["found"], true);
}

#[test]
fn steps_one_by_one() {
    let server = Server::start(json!({}));
    let mut producer = server.peer();
    for order in orders() {
        let (mut consumer, delivery, mut model) = start(&server);
        let before = unknown(&mut consumer);
        for step in &order {
            let request = Model::request(*step, &delivery);
            let facts = model.take(*step);
            let reply = match step {
                Nack => {
                    consumer.send(request);
                    consumer.quiet();
                    continue;
                }
                Ack => consumer.ask(&request),
                Replace | Cancel => producer.ask(&request),
            };
            for (name, fact) in facts {
                assert_eq!(reply[name], fact, "{name} of {step:?} in {order:?}");
            }
        }
        end(&mut consumer, &delivery, model, &order, before);
        drop(consumer);
        producer.until(Peer::all_stats, |stats| stats["connections"] == 1);
    }
}

#[test]
fn steps_in_one_write() {
    let server = Server::start(json!({}));
    let mut other = server.peer();
    for order in orders() {
        let (mut consumer, delivery, mut model) = start(&server);
        let before = unknown(&mut consumer);
        let requests = order.iter().enumerate().map(|(tag, step)| {
            let request = Model::request(*step, &delivery);
            request.replacen('{', &format!(r#"{{"tag":"go{tag}","#), 1) + "\n"
        });
        consumer.raw(requests.collect::<String>());
        for (tag, step) in order.iter().enumerate() {
            let facts = model.take(*step);
            if facts.is_empty() {
                continue;
            }
            let reply = consumer.answer(&format!("go{tag}"));
            for (name, fact) in facts {
                // The answer after it may arrive before it is done.
                if name != "in_flight" || fact == false {
                    assert_eq!(reply[name], fact, "{name} of {step:?} in {order:?}");
                }
            }
        }
        consumer.quiet();
        end(&mut consumer, &delivery, model, &order, before);
        drop(consumer);
        other.until(Peer::all_stats, |stats| stats["connections"] == 1);
    }
}

fn unknown(peer: &mut Peer) -> u64 {
    let stats = peer.all_stats();
    stats["unknown_acks"].as_u64().expect("it is a number")
}
