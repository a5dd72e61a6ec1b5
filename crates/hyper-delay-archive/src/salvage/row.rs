/// A put or a removal of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowVersion {
    pub(super) key: Vec<u8>,
    /// The sequence number of the commit that wrote it. The highest one of a key is the newest.
    pub(super) seqno: u64,
    /// `None` for a removal.
    pub(super) value: Option<Vec<u8>>,
}

/// The newest row of a key that is not removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LiveRow {
    pub(super) key: Vec<u8>,
    pub(super) seqno: u64,
    pub(super) value: Vec<u8>,
}
