//! The links that this node cannot make.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{error::LinkError, hello::Refused};
use crate::cluster::log::{NoLink, NodeName};

/// A reason is in every heartbeat, and its end is left out beyond this many bytes.
const LONGEST: usize = 512;

/// The nodes to which the last attempt to make a link has failed, and why.
#[derive(Debug, Default)]
pub(crate) struct Missing(Mutex<BTreeMap<NodeName, NoLink>>);

impl Missing {
    /// Returns them, by name.
    pub(crate) fn all(&self) -> Arc<[NoLink]> {
        self.lock().values().cloned().collect()
    }

    /// An attempt has failed.
    pub(super) fn note(&self, node: &NodeName, error: &LinkError) {
        let mut why = error.to_string();
        let end = (0..=LONGEST).rev().find(|end| why.is_char_boundary(*end));
        why.truncate(end.expect("0 is one"));
        let no_link = NoLink {
            node: node.clone(),
            why: why.into(),
            is_of_versions: matches!(error, LinkError::Refused(Refused::Format { .. })),
        };
        self.lock().insert(node.clone(), no_link);
    }

    /// There is a link, or none is wanted.
    pub(super) fn forget(&self, node: &NodeName) {
        self.lock().remove(node);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<NodeName, NoLink>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
