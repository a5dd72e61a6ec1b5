//! What a store may take of the memory and the open files of its process.

use crate::descriptors::Descriptors;

/// Bytes of one space in memory before they go to a table. There are nine spaces, and each may have
/// up to four sealed memtables besides: then a commit waits.
const MEMTABLE: u64 = 4 << 20;

/// The smallest memtable: merging the many tables of smaller ones costs more than they save.
const SMALLEST_MEMTABLE: u64 = 512 << 10;

/// Bytes of recently read blocks of sorted files, over all spaces.
const CACHE: u64 = 16 << 20;

/// The library's minimum.
const FEWEST_TABLES: usize = 10;

/// The share of one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct Budget {
    /// Bytes of one space in memory before they go to a table.
    pub(in crate::store) memtable: u64,
    /// Bytes of recently read blocks.
    pub(in crate::store) cache: u64,
    /// Tables that stay open.
    pub(in crate::store) tables: usize,
}

impl Budget {
    /// Returns the share of one of `stores` stores in the process.
    pub(in crate::store) fn shared_by(stores: u16) -> Self {
        let tables = Descriptors::of_process().cached_tables();
        let stores = stores.max(1);
        Self {
            memtable: (MEMTABLE / u64::from(stores)).max(SMALLEST_MEMTABLE),
            cache: CACHE / u64::from(stores),
            tables: (tables / usize::from(stores)).max(FEWEST_TABLES.min(tables)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_share_what_one_has() {
        let one = Budget::shared_by(1);
        assert_eq!((one.memtable, one.cache), (MEMTABLE, CACHE));
        assert_eq!(one.tables, Descriptors::of_process().cached_tables());
        let eight = Budget::shared_by(8);
        assert_eq!((8 * eight.memtable, 8 * eight.cache), (MEMTABLE, CACHE));
        let many = Budget::shared_by(1_000);
        assert_eq!(many.memtable, SMALLEST_MEMTABLE);
        assert!(many.tables <= one.tables, "{many:?}");
    }
}
