//! `cluster status` and the links between nodes that live.

use std::{fs, path::Path, time::Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use testkit::{Ended, Etcd, PATIENCE, Server, Start, loopback};

use super::{Node, PROGRAM};

/// Writes the certificate of a node, its key and its authority. Returns `tls` for the configuration.
fn tls(folder: &Path) -> Value {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let cert = params.signed_by(&key, &ca).unwrap();
    let write = |name: &str, text: String| {
        let file = folder.join(name);
        fs::write(&file, text).unwrap();
        file
    };
    json!({
        "cert": write("cert.pem", cert.pem()),
        "key": write("key.pem", key.serialize_pem()),
        "ca": write("ca.pem", ca.pem()),
    })
}

#[test]
fn status_tells_of_a_node_whose_links_fail_until_they_work() {
    if !Etcd::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let etcd = Etcd::start(folder.path(), 1, &[], "http");
    let url = &*etcd.urls()[0];
    let nodes = ["a", "b", "c"].map(|name| {
        let address = loopback().to_string();
        let node = Node::new(name, &address, url);
        node.run(&["join", "--shards", "2"]).done();
        let cluster = json!({
            "etcd": [url],
            "node": name,
            "advertise": address,
            "lease_ms": 2_000,
        });
        (node, cluster)
    });
    let run = |number: usize, tls: Option<Value>| -> Server {
        let (node, mut cluster) = (&nodes[number].0, nodes[number].1.clone());
        if let Some(tls) = tls {
            cluster["tls"] = tls;
        }
        let config = json!({"bind_addr": "127.0.0.1:0", "http_addr": null, "cluster": cluster});
        Start::new(PROGRAM, node.0.path()).config(config).run()
    };
    let of_c = run(2, Some(tls(folder.path())));
    let _plain = [run(0, None), run(1, None)];

    // Asks for the status until the condition holds, or the time limit of the test has passed.
    let until = |is_so: &dyn Fn(&Ended) -> bool| {
        let begun = Instant::now();
        loop {
            let status = nodes[0].0.run(&["status"]);
            if is_so(&status) {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "{status:?}");
        }
    };
    // Each link fails for its reason, and the reason says what to look at.
    let links = ["a to c", "b to c", "c to a", "c to b"].map(|link| {
        let (from, to) = link.split_once(" to ").unwrap();
        format!("node {from} has no link to node {to}; node {from} says: ")
    });
    let is_told = |status: &Ended| {
        let names_tls = |link: &String| {
            let reason = status.stderr.split_once(link.as_str());
            let reason = reason.map(|(_, reason)| reason.split("; node ").next().unwrap());
            reason.is_some_and(|reason| reason.contains("`tls`"))
        };
        links.iter().all(names_tls) && !status.stderr.contains("no attempt")
    };
    let status = until(&is_told);
    for well in [
        "node a has no link to node b",
        "node b has no link to node a",
    ] {
        assert!(!status.stderr.contains(well), "{status:?}");
    }
    status.failed(1);

    drop(of_c);
    let _of_c = run(2, None);
    until(&|status| status.code == Some(0));
}
