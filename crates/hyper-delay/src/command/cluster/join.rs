use clap::Args;

use super::{
    super::{
        CommandError,
        output::{print, report},
    },
    ConfigArg, OpenedCluster,
};
use hyper_delay_cluster::{admin::PreviousMembership, setup};

/// Make the node of the configuration a member, and make the cluster if there is none.
///
/// Membership is permanent: it does not depend on whether the node runs. Repeat the command after
/// `advertise` has changed, while the node does not run.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay cluster join --config /etc/hyper-delay.json")]
pub(super) struct Join {
    /// The number of shards of a new cluster, 1 to 32. It cannot be changed. Default: 8.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=32))]
    shards: Option<u16>,
    #[command(flatten)]
    at: ConfigArg,
}

impl Join {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let OpenedCluster { cluster, admin, .. } = self.at.open()?;
        let member = setup::member(&cluster);
        let joined = admin.join(&member, self.shards).await?;
        let (id, shards) = (joined.charter.cluster, joined.charter.shards);
        print(&match joined.is_new {
            true => format!("made cluster {id:032x} with {shards} shards"),
            false => format!("cluster {id:032x} has {shards} shards"),
        })?;
        let before = match joined.was {
            PreviousMembership::NotMember | PreviousMembership::Member => String::new(),
            PreviousMembership::OtherAddress(address) => format!("; its address was {address}"),
        };
        print(&format!(
            "node {} at {} is a member ({} of {}){before}",
            member.node, member.address, joined.place, joined.members
        ))?;
        if let Some(hint) = hint(joined.members) {
            report(&hint)?;
        }
        Ok(())
    }
}

/// Returns what to know of a number of members. For the journal to be shortened, a majority must be
/// there.
fn hint(members: usize) -> Option<String> {
    match members {
        1 => Some("no other node takes over if this one dies: join another one".to_owned()),
        even if even % 2 == 0 => Some(format!(
            "of {even} nodes {} may be away for long, of {} nodes {}: join another one",
            (even - 1) / 2,
            even + 1,
            even / 2
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn one_node_and_even_numbers_have_a_hint() {
        assert!(hint(1).is_some_and(|hint| hint.starts_with("no other node")));
        assert_eq!(
            hint(2).as_deref(),
            Some("of 2 nodes 0 may be away for long, of 3 nodes 1: join another one")
        );
        assert_eq!(
            hint(4).as_deref(),
            Some("of 4 nodes 1 may be away for long, of 5 nodes 2: join another one")
        );
        assert_eq!((hint(3), hint(5)), (None, None));
    }
}
