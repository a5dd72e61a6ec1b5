use serde_json::json;
use testkit::request::schedule;

use crate::server::Server;

const ATTACKERS: usize = 30;

#[test]
fn unfinished_lines_close_their_own_connections_only() {
    let server = Server::start(json!({"max_unfinished_bytes": 262_144}));
    let mut consumer = server.consumer("a");
    let mut producer = server.peer();
    // A slow client begins a line before all attackers and ends it after them.
    let mut slow = server.peer();
    let line = schedule("a", "slow", 1);
    let (begin, end) = line.split_at(20);
    slow.raw(begin);
    let half = "x".repeat(60_000);
    let mut attackers = Vec::new();
    for id in 0..ATTACKERS {
        let attacker = server.peer();
        attacker.raw(&half);
        attackers.push(attacker);
        producer.due("a", &id.to_string());
        let delivery = consumer.delivery();
        assert!(consumer.removes(&delivery));
    }
    // At most four half lines of this size fit into the limit.
    let closed = attackers.iter_mut().take(ATTACKERS - 5).map(|attacker| {
        let error = attacker.kind("error");
        assert!(
            error["message"]
                .to_string()
                .contains("max_unfinished_bytes")
        );
        assert_eq!(
            (&error["code"], attacker.line()),
            (&json!("line_too_long"), None)
        );
    });
    assert_eq!(closed.count(), ATTACKERS - 5);
    slow.raw(format!("{end}\n"));
    assert_eq!(slow.kind("ack")["id"], "slow");
    server.logs("closed: all unfinished lines exceed max_unfinished_bytes");
}
