//! Checks fields that depend on whether the server belongs to a cluster.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::Config;

/// The most bytes of a line in a cluster: a group of changes is one value of etcd.
const LONGEST_LINE: usize = 1 << 20;

/// Checks the fields that a cluster limits. The error is the field, its value and the cure.
pub(super) fn check(config: &Config) -> Result<(), (&'static str, Value, String)> {
    if !cfg!(feature = "cluster") {
        let cure = "this binary was built without `cluster`: build it with `--features cluster`, \
                    or leave cluster out";
        return Err(("cluster", json!(config.cluster), cure.to_owned()));
    }
    if config.max_line_bytes > LONGEST_LINE {
        let cure = format!("give at most {LONGEST_LINE} with cluster, or leave cluster out");
        return Err(("max_line_bytes", json!(config.max_line_bytes), cure));
    }
    Ok(())
}

/// Checks that links may be accepted on their address. The error is the address and the cure.
pub(super) fn check_address(config: &Config) -> Result<(), (SocketAddr, String)> {
    let Some(cluster) = &config.cluster else {
        return Ok(());
    };
    let address = cluster.bind_addr;
    for (name, other) in [
        ("bind_addr", Some(config.bind_addr)),
        ("http_addr", config.http_addr),
    ] {
        if let Some(other) = other.filter(|other| overlap(*other, address)) {
            let what = match other == address {
                true => "the same".to_owned(),
                false => format!("\"{other}\", on the same port"),
            };
            let cure = format!("{name} of the server is {what}: give them different ports");
            return Err((address, cure));
        }
    }
    let is_local = address.ip().to_canonical().is_loopback();
    match is_local || cluster.tls.is_some() || config.open {
        true => Ok(()),
        false => Err((
            address,
            "other machines can reach it, and nothing says which of them are nodes: set \
             cluster.tls, or a loopback address such as 127.0.0.1:7002, or \"open\": true if every \
             host that reaches it may be a node"
                .to_owned(),
        )),
    }
}

/// Returns whether only one listener can have both addresses: they are the same, or one is every
/// address of the machine.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let [a, b] = [one, other].map(|it| it.ip().to_canonical());
    one.port() == other.port() && (a == b || a.is_unspecified() || b.is_unspecified())
}
