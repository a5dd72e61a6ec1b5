//! Deliveries that wait for another one of the same id to the same client.

use testkit::request::echo;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_has_expired_is_not_delivered_when_its_turn_comes() {
    let nodes = Nodes::start_with(1, LONG_LEASE).await;
    let address = nodes.address(0);
    blocking(move || {
        let mut peer = Peer::connect(address);
        for route in routes() {
            let register = format!(r#"{{"kind":"register","route_key":"{route}"}}"#);
            assert_eq!(insist(&mut peer, &register)["kind"], "registered");
        }
        let mut routes = routes();
        let first = routes.next().expect("there are routes");
        peer.due(&first, "x");
        let delivery = peer.delivery();
        // A slow machine gets more time.
        let others: Vec<_> = routes.collect();
        let mut patience = 1_500;
        let expires_at = loop {
            let expires_at = now() + patience;
            for route in &others {
                let request = schedule(route, "x", 1);
                let terms = format!(r#"{{"expires_at":{expires_at},"replace":true,"#);
                peer.ask(&request.replacen('{', &terms, 1));
            }
            // Those of other shards than the first are given to the connection, and wait there.
            let stats = insist(&mut peer, r#"{"kind":"stats"}"#);
            let is_waiting = stats["in_flight"].as_u64().is_some_and(|it| it > 1);
            if is_waiting && now() < expires_at {
                break expires_at;
            }
            patience *= 2;
        };
        while now() <= expires_at {
            std::thread::sleep(Duration::from_millis(10));
        }
        peer.send(echo("ack", &delivery));
        for route in &others {
            let get = format!(r#"{{"kind":"get","route_key":"{route}","id":"x"}}"#);
            while insist(&mut peer, &get)["found"] != false {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        peer.quiet();
    })
    .await;
    nodes.kill_all().await;
}
