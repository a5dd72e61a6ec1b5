//! One value for each shard.

use std::ops::{Index, IndexMut};

use crate::ShardId;

/// A value for each shard of the cluster.
#[derive(Debug)]
pub(super) struct ByShard<T>(Vec<T>);

impl<T> ByShard<T> {
    pub(super) fn new(shards: u16, of_shard: impl FnMut(ShardId) -> T) -> Self {
        Self((0..shards).map(ShardId).map(of_shard).collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ShardId, &T)> {
        (0..).map(ShardId).zip(&self.0)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (ShardId, &mut T)> {
        (0..).map(ShardId).zip(&mut self.0)
    }
}

impl<T> Index<ShardId> for ByShard<T> {
    type Output = T;

    fn index(&self, shard: ShardId) -> &T {
        &self.0[usize::from(shard.0)]
    }
}

impl<T> IndexMut<ShardId> for ByShard<T> {
    fn index_mut(&mut self, shard: ShardId) -> &mut T {
        &mut self.0[usize::from(shard.0)]
    }
}
