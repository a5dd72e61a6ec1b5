//! The messages of `shop.Prices`, as `prost` generates them.

/// Asks for the price of an item.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Item {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

/// An answer.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Price {
    #[prost(uint64, tag = "1")]
    pub(crate) cents: u64,
    /// The replica that answered.
    #[prost(string, tag = "2")]
    pub(crate) from: String,
    /// The header `grpc-timeout` that it received.
    #[prost(string, tag = "3")]
    pub(crate) timeout: String,
}
