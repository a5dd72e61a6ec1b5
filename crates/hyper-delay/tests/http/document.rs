use std::collections::BTreeMap;

use serde_json::json;

use crate::server::Server;

const TEXT: &str = include_str!("../../METRICS.md");

#[test]
fn the_table_has_every_metric_with_its_kind() {
    let server = Server::start(json!({}));
    let metrics = server.scrape();
    // Only a node of a cluster has the others.
    let (of_every_server, _) = TEXT.split_once("\n## In a cluster\n").unwrap();
    let rows = of_every_server
        .lines()
        .filter(|line| line.starts_with("| `hyper_delay_"))
        // A test with TLS has those that this server lacks.
        .filter(|line| !line.contains("absent without `tls`"));
    let written: BTreeMap<String, String> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let name = cells[1].trim_matches('`').to_owned();
            (name, cells[2].to_owned())
        })
        .collect();
    assert_eq!(&written, metrics.families());
}
