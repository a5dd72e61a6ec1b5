//! The share of the memory and the open files of the process that a store may use, and the sizes
//! for merging its tables.
//!
//! The first level of a store has a table for each memtable that was written. When it has some of
//! them, they are merged with the tables of the next level that they overlap, so the work for a
//! byte is as many bytes as the next level has for each byte of the first. A store with a part of
//! the memory has smaller memtables. It merges more of them at a time, and its next level is
//! smaller, so that this ratio stays what it is with one store.

use crate::file_descriptors::Descriptors;

/// Bytes of one space in memory before they go to a table. There are nine spaces, and each may have
/// up to four sealed memtables besides: then a commit waits.
const MEMTABLE: u64 = 4 << 20;

/// The smallest memtable: merging the many tables of smaller ones costs more than they save.
const SMALLEST_MEMTABLE: u64 = 512 << 10;

/// Bytes of recently read blocks of sorted files, over all spaces.
const CACHE: u64 = 16 << 20;

/// The number of tables in the first level at which it is merged: the library's default.
const L0_TABLES: u8 = 4;

/// Bytes of a table of the other levels: the library's default. The next level has as many bytes
/// as this times [`L0_TABLES`].
const TABLE: u64 = 64 << 20;

/// From 20 tables in the first level on, the library slows commits down. A merge takes time, and the
/// first level grows meanwhile.
const MAX_L0_TABLES: u8 = 12;

/// The library's minimum.
const MIN_OPEN_TABLES: usize = 10;

/// The share of one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryBudget {
    /// Bytes of one space in memory before they go to a table.
    pub(crate) memtable: u64,
    /// The number of tables in the first level at which it is merged.
    pub(crate) l0_tables: u8,
    /// Bytes of a table of the other levels.
    pub(crate) table: u64,
    /// Bytes of recently read blocks.
    pub(crate) cache: u64,
    /// Number of tables that stay open.
    pub(crate) open_tables: usize,
}

impl MemoryBudget {
    /// Returns the share of one of `stores` stores in the process.
    pub(crate) fn shared_by(stores: u16) -> Self {
        let tables = Descriptors::of_process().cached_tables();
        let stores = stores.max(1);
        let memtable = (MEMTABLE / u64::from(stores)).max(SMALLEST_MEMTABLE);
        let smaller = MEMTABLE / memtable;
        let l0_tables = u64::from(L0_TABLES) * smaller;
        Self {
            memtable,
            l0_tables: u8::try_from(l0_tables)
                .map_or(MAX_L0_TABLES, |tables| tables.min(MAX_L0_TABLES)),
            table: TABLE / smaller,
            cache: CACHE / u64::from(stores),
            open_tables: (tables / usize::from(stores)).max(MIN_OPEN_TABLES.min(tables)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_share_what_one_has() {
        let one = MemoryBudget::shared_by(1);
        assert_eq!((one.memtable, one.cache), (MEMTABLE, CACHE));
        assert_eq!((one.l0_tables, one.table), (4, 64 << 20));
        assert_eq!(one.open_tables, Descriptors::of_process().cached_tables());
        let eight = MemoryBudget::shared_by(8);
        assert_eq!((8 * eight.memtable, 8 * eight.cache), (MEMTABLE, CACHE));
        assert_eq!((eight.l0_tables, eight.table), (12, 8 << 20));
        let many = MemoryBudget::shared_by(1_000);
        assert_eq!((many.l0_tables, many.table), (eight.l0_tables, eight.table));
        assert_eq!(many.memtable, SMALLEST_MEMTABLE);
        assert!(many.open_tables <= one.open_tables, "{many:?}");
    }
}
