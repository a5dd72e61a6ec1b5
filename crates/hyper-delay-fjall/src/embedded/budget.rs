//! What a store may take of the memory and the open files of its process, and how it merges its
//! tables.
//!
//! The first level of a store has a table for each memtable that was written. When it has some of
//! them, they are merged with the tables of the next level that they overlap, so the work for a
//! byte is as many bytes as the next level has for each byte of the first. A store with a part of
//! the memory has smaller memtables. It merges more of them at a time, and its next level is
//! smaller, so that this ratio stays what it is with one store.

use crate::descriptors::Descriptors;

/// Bytes of one space in memory before they go to a table. There are nine spaces, and each may have
/// up to four sealed memtables besides: then a commit waits.
const MEMTABLE: u64 = 4 << 20;

/// The smallest memtable: merging the many tables of smaller ones costs more than they save.
const SMALLEST_MEMTABLE: u64 = 512 << 10;

/// Bytes of recently read blocks of sorted files, over all spaces.
const CACHE: u64 = 16 << 20;

/// How many tables the first level has before it is merged, and the bytes of a table of the other
/// levels: what the library does. The next level has as many bytes as their product.
const MERGED: u8 = 4;
const TABLE: u64 = 64 << 20;

/// From 20 tables in the first level on, the library slows commits down. A merge takes its time, and
/// the first level grows meanwhile.
const MOST_MERGED: u8 = 12;

/// The library's minimum.
const FEWEST_TABLES: usize = 10;

/// The share of one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Bytes of one space in memory before they go to a table.
    pub(crate) memtable: u64,
    /// How many tables the first level has before it is merged.
    pub(crate) merged: u8,
    /// Bytes of a table of the other levels.
    pub(crate) table: u64,
    /// Bytes of recently read blocks.
    pub(crate) cache: u64,
    /// Tables that stay open.
    pub(crate) tables: usize,
}

impl Budget {
    /// Returns the share of one of `stores` stores in the process.
    pub(crate) fn shared_by(stores: u16) -> Self {
        let tables = Descriptors::of_process().cached_tables();
        let stores = stores.max(1);
        let memtable = (MEMTABLE / u64::from(stores)).max(SMALLEST_MEMTABLE);
        let smaller = MEMTABLE / memtable;
        let merged = u64::from(MERGED) * smaller;
        Self {
            memtable,
            merged: u8::try_from(merged).map_or(MOST_MERGED, |merged| merged.min(MOST_MERGED)),
            table: TABLE / smaller,
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
        assert_eq!((one.merged, one.table), (4, 64 << 20));
        assert_eq!(one.tables, Descriptors::of_process().cached_tables());
        let eight = Budget::shared_by(8);
        assert_eq!((8 * eight.memtable, 8 * eight.cache), (MEMTABLE, CACHE));
        assert_eq!((eight.merged, eight.table), (12, 8 << 20));
        let many = Budget::shared_by(1_000);
        assert_eq!((many.merged, many.table), (eight.merged, eight.table));
        assert_eq!(many.memtable, SMALLEST_MEMTABLE);
        assert!(many.tables <= one.tables, "{many:?}");
    }
}
