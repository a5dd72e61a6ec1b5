use etcd_client::{Compare, CompareOp, GetOptions, KvClient, Txn, TxnOp};

use super::Done;
use crate::cluster::{
    Charter,
    log::etcd::{error::EtcdError, key, value},
};

/// Changes nothing. A charter that is missing beside other keys of its cluster is an error.
pub(super) async fn charter(kv: &mut KvClient) -> Result<Option<Charter>, EtcdError> {
    let (from, to) = key::SHARDS;
    let any = GetOptions::new().with_range(to).with_limit(1);
    let txn = Txn::new()
        .when([Compare::version(key::CHARTER, CompareOp::Greater, 0)])
        .and_then([TxnOp::get(key::CHARTER, None)])
        .or_else([TxnOp::get(from, Some(any.with_keys_only()))]);
    let mut done = Done::run(kv, txn).await?;
    match (done.succeeded, done.read_one()?) {
        (true, charter) => charter.as_ref().map(value::founded).transpose(),
        (false, None) => Ok(None),
        (false, Some(_)) => Err(EtcdError::Missing(key::CHARTER.into())),
    }
}
