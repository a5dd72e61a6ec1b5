use clap::Args;
use serde::Serialize;

use super::{
    super::{
        CommandError,
        output::{print, print_json, report},
    },
    ConfigArg, OpenedCluster,
    table::table,
};
use hyper_delay_cluster::admin::{self, Liveness, NodeStatus, ShardStatus};

/// Print the nodes of the cluster, who leads the shards, and how far the nodes are.
///
/// A node is alive if it gives a sign of life within its lease. For each shard the first and the last
/// entry of its journal are printed, the size of the journal, and for each node how many entries it
/// has not synced yet (- if it has reported nothing). A shard whose keys in etcd are damaged has ?
/// everywhere. The exit code is 0 only if every member is alive and has links to the others, and each
/// shard has a living leader; links that are missing because the versions differ do not count.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay cluster status --config /etc/hyper-delay.json")]
pub(super) struct Status {
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: ConfigArg,
}

/// The output of `--json`.
#[derive(Serialize)]
struct StatusJson<'a> {
    #[serde(flatten)]
    status: &'a admin::ClusterStatus,
    problems: &'a [String],
    notes: &'a [String],
}

impl Status {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let OpenedCluster { admin, .. } = self.at.open()?;
        let status = admin.status().await?;
        let (problems, notes) = (status.problems(), status.notes());
        if self.json {
            print_json(&StatusJson {
                status: &status,
                problems: &problems,
                notes: &notes,
            })?;
        } else {
            for line in lines(&status) {
                print(&line)?;
            }
            notes.iter().try_for_each(|text| report(text))?;
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(CommandError::ClusterIsUnwell(problems.join("; "))),
        }
    }
}

/// Returns the lines for people.
fn lines(status: &admin::ClusterStatus) -> Vec<String> {
    let mut lines = vec![format!("cluster {:032x}", status.charter.cluster)];
    lines.extend(nodes(status));
    lines.extend(shards(status));
    lines
}

fn nodes(status: &admin::ClusterStatus) -> Vec<String> {
    let head = ["node", "address", "state", "leads"];
    let row = |node: &NodeStatus| {
        let is_its = |shard: &&ShardStatus| {
            let leader = shard.leader.as_ref();
            leader.is_some_and(|leader| leader.alive && leader.node == node.node)
        };
        let state = match node.state {
            Liveness::Alive => "alive",
            Liveness::Silent => "silent",
            Liveness::Left => "not running",
        };
        let leads = status.shards.iter().filter(is_its).count().to_string();
        vec![
            node.node.clone(),
            node.address.clone(),
            state.to_owned(),
            leads,
        ]
    };
    table(&head, status.nodes.iter().map(row).collect())
}

fn shards(status: &admin::ClusterStatus) -> Vec<String> {
    let head = ["shard", "leader", "epoch", "first", "last", "KiB"].into_iter();
    let head: Vec<&str> = head
        .chain(status.nodes.iter().map(|node| &*node.node))
        .collect();
    let row = |shard: &ShardStatus| {
        let (Some(first), Some(last)) = (shard.first, shard.last) else {
            let mut row = vec!["?".to_owned(); head.len()];
            row[0] = shard.shard.to_string();
            return row;
        };
        let (leader, epoch) = match &shard.leader {
            None => ("-".to_owned(), "-".to_owned()),
            Some(it) if it.alive => (it.node.clone(), it.epoch.to_string()),
            Some(it) => (format!("{} (gone)", it.node), it.epoch.to_string()),
        };
        let bytes = shard
            .bytes
            .map_or("-".to_owned(), |bytes| bytes.div_ceil(1024).to_string());
        let numbers = [first.to_string(), last.to_string(), bytes];
        let mut row = vec![shard.shard.to_string(), leader, epoch];
        row.extend(numbers);
        row.extend(status.nodes.iter().map(|node| {
            let synced = shard.synced.get(&node.node);
            synced.map_or("-".to_owned(), |synced| {
                last.saturating_sub(*synced).to_string()
            })
        }));
        row
    };
    table(&head, status.shards.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper_delay_cluster::{Charter, admin::LeaderStatus};

    fn node(name: &str, state: Liveness) -> NodeStatus {
        NodeStatus {
            node: name.to_owned(),
            address: format!("{name}.internal:7002"),
            state,
            lease_ms: Some(2_000),
            missing_links: [].into(),
        }
    }

    #[test]
    fn people_see_two_tables() {
        let leader = |node: &str, alive| {
            Some(LeaderStatus {
                node: node.to_owned(),
                epoch: 1_234,
                alive,
            })
        };
        let shard = |number, leader, bytes, synced: &[(&str, u64)]| ShardStatus {
            shard: number,
            leader,
            first: Some(90),
            last: Some(100),
            bytes,
            synced: synced
                .iter()
                .map(|(node, seq)| ((*node).to_owned(), *seq))
                .collect(),
            error: None,
        };
        let damaged = ShardStatus {
            first: None,
            last: None,
            error: Some("etcd lacks it".to_owned()),
            ..shard(3, None, None, &[])
        };
        let status = admin::ClusterStatus {
            charter: Charter {
                cluster: 0xabc,
                shards: 4,
            },
            nodes: vec![
                node("a", Liveness::Alive),
                node("node-b", Liveness::Silent),
                node("c", Liveness::Left),
            ],
            shards: vec![
                shard(
                    0,
                    leader("a", true),
                    Some(2_000),
                    &[("a", 100), ("node-b", 3)],
                ),
                shard(1, leader("node-b", false), None, &[("a", 101)]),
                shard(2, None, Some(1), &[]),
                damaged,
            ],
        };
        assert_eq!(
            lines(&status),
            [
                "cluster 00000000000000000000000000000abc",
                "node    address               state        leads",
                "a       a.internal:7002       alive            1",
                "node-b  node-b.internal:7002  silent           0",
                "c       c.internal:7002       not running      0",
                "shard  leader         epoch  first  last  KiB  a  node-b  c",
                "    0  a               1234     90   100    2  0      97  -",
                "    1  node-b (gone)   1234     90   100    -  0       -  -",
                "    2  -                  -     90   100    1  -       -  -",
                "    3  ?                  ?      ?     ?    ?  ?       ?  ?",
            ]
        );
    }
}
