//! The links that this node does not have, as its heartbeats report them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{error::LinkError, handshake::HandshakeRefusal};
use crate::log::{Member, MissingLink, NodeName};

/// The longest reason in bytes, as every heartbeat has it.
const LONGEST: usize = 512;

const NOT_TRIED: &str = "no attempt to make it has ended yet";

/// The nodes to which this node wants a link and has none, and why the last attempt failed.
#[derive(Debug, Default)]
pub(crate) struct MissingLinks(Mutex<BTreeMap<NodeName, MissingLink>>);

impl MissingLinks {
    /// Returns them, by name.
    pub(crate) fn all(&self) -> Arc<[MissingLink]> {
        self.lock().values().cloned().collect()
    }

    /// Adds the links to the other members, before there is any.
    pub(crate) fn add_members(&self, members: &[Member], own: &NodeName) {
        let others = members.iter().filter(|member| member.node != *own);
        others.for_each(|member| self.add_wanted(&member.node));
    }

    /// Adds a wanted link, which is missing until it is made.
    pub(super) fn add_wanted(&self, node: &NodeName) {
        let mut missing = self.lock();
        if !missing.contains_key(node) {
            let link = MissingLink {
                to: node.clone(),
                why: NOT_TRIED.into(),
                versions_differ: false,
            };
            missing.insert(node.clone(), link);
        }
    }

    /// An attempt has failed, or the link has ended.
    pub(super) fn set_failure(&self, node: &NodeName, error: &LinkError) {
        let mut why = error.to_string();
        if let Some(end) = (0..=LONGEST).rfind(|end| why.is_char_boundary(*end))
            && end < why.len()
        {
            why.truncate(end);
            why.push('…');
        }
        let link = MissingLink {
            to: node.clone(),
            why: why.into(),
            versions_differ: matches!(error, LinkError::Refused(HandshakeRefusal::Format { .. })),
        };
        self.lock().insert(node.clone(), link);
    }

    /// Removes a link: it is there, or is not wanted any more.
    pub(super) fn remove(&self, node: &NodeName) {
        self.lock().remove(node);
    }

    /// Forgets the nodes to which no link is wanted.
    pub(crate) fn retain(&self, is_wanted: impl Fn(&NodeName) -> bool) {
        self.lock().retain(|node, _| is_wanted(node));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<NodeName, MissingLink>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_at_a_character() {
        let missing = MissingLinks::default();
        let node = NodeName::from("b");
        for (reason, shown) in [
            ("x".repeat(100), "x".repeat(100)),
            ("é".repeat(400), "é".repeat(255) + "…"),
        ] {
            let error = LinkError::RefusedByPeer(reason);
            missing.set_failure(&node, &error);
            let why = missing.all()[0].why.to_string();
            let shown = LinkError::RefusedByPeer(shown).to_string();
            match why.strip_suffix('…') {
                None => assert_eq!(why, shown),
                Some(cut) => {
                    assert!(
                        cut.len() <= LONGEST && cut.len() > LONGEST - 2,
                        "{}",
                        cut.len()
                    );
                    assert!(shown.starts_with(cut));
                }
            }
        }
    }

    #[test]
    fn a_link_is_missing_before_the_first_attempt() {
        let missing = MissingLinks::default();
        let member = |node: &str| Member {
            node: node.into(),
            address: "x:1".into(),
        };
        missing.add_members(&[member("a"), member("b"), member("c")], &"b".into());
        missing.remove(&"a".into());
        missing.set_failure(&"c".into(), &LinkError::Closed);
        missing.add_wanted(&"c".into());
        let all = missing.all();
        assert_eq!((all.len(), &*all[0].to), (1, "c"));
        assert_eq!(*all[0].why, LinkError::Closed.to_string());
    }
}
