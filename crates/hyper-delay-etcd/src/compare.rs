use bytes::Bytes;

use crate::{Key, Keys, number::clamp};

/// What must hold for a [`Txn`](crate::Txn) to take its first branch.
///
/// A comparison of several keys holds if it holds for each key that is there. If none is there, the
/// version and the revision count as 0, and no comparison of values holds.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Compare {
    #[prost(enumeration = "Relation", tag = "1")]
    relation: i32,
    #[prost(enumeration = "Target", tag = "2")]
    target: i32,
    #[prost(bytes = "bytes", tag = "3")]
    key: Bytes,
    #[prost(oneof = "Operand", tags = "4, 6, 7")]
    operand: Option<Operand>,
    #[prost(bytes = "bytes", tag = "64")]
    range_end: Bytes,
}

/// How a property of a key relates to the operand of a [`Compare`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub enum Relation {
    /// It is equal.
    Equal = 0,
    /// It is greater.
    Greater = 1,
    /// It is less.
    Less = 2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
enum Target {
    Version = 0,
    ModRevision = 2,
    Value = 3,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
enum Operand {
    #[prost(uint64, tag = "4")]
    Version(u64),
    #[prost(uint64, tag = "6")]
    ModRevision(u64),
    #[prost(bytes = "bytes", tag = "7")]
    Value(Bytes),
}

impl Compare {
    /// Compares the version: how often a key was written since it was created. A key that is absent
    /// has version 0.
    #[must_use]
    pub fn version(keys: impl Into<Keys>, relation: Relation, version: u64) -> Self {
        let operand = Operand::Version(clamp(version));
        Self::new(keys, Target::Version, relation, operand)
    }

    /// Compares the revision that wrote a key last. A key that is absent has revision 0.
    #[must_use]
    pub fn mod_revision(keys: impl Into<Keys>, relation: Relation, revision: u64) -> Self {
        let operand = Operand::ModRevision(clamp(revision));
        Self::new(keys, Target::ModRevision, relation, operand)
    }

    /// Compares a value, as bytes. No relation holds if none of the keys is there.
    #[must_use]
    pub fn value(keys: impl Into<Keys>, relation: Relation, value: impl Into<Bytes>) -> Self {
        let operand = Operand::Value(value.into());
        Self::new(keys, Target::Value, relation, operand)
    }

    /// Holds if none of the keys is there.
    #[must_use]
    pub fn absent(keys: impl Into<Keys>) -> Self {
        Self::version(keys, Relation::Equal, 0)
    }

    /// Holds if the key is there.
    #[must_use]
    pub fn present(key: impl Into<Key>) -> Self {
        Self::version(Keys::one(key), Relation::Greater, 0)
    }

    fn new(keys: impl Into<Keys>, target: Target, relation: Relation, operand: Operand) -> Self {
        let Keys { start, end } = keys.into();
        Self {
            relation: relation.into(),
            target: target.into(),
            key: start,
            operand: Some(operand),
            range_end: end,
        }
    }
}
