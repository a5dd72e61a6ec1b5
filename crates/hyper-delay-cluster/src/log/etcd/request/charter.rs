use hyper_delay_etcd::{Client, Compare, Get, Keys, Txn};

use super::TxnAnswer;
use crate::{
    Charter,
    log::etcd::{error::EtcdError, key, value},
};

/// Changes nothing. A charter that is missing beside other keys of its cluster is an error.
pub(super) async fn charter(client: &Client) -> Result<Option<Charter>, EtcdError> {
    let (from, to) = key::SHARDS;
    let any = Get::new(Keys::range(from, to)).limit(1).keys_only();
    let txn = Txn::new()
        .when(Compare::present(key::CHARTER))
        .then(Get::new(key::CHARTER))
        .or_else(any);
    let mut done = TxnAnswer::run(client, txn).await?;
    match (done.succeeded, done.read_one()?) {
        (true, charter) => charter.as_ref().map(value::decode_charter).transpose(),
        (false, None) => Ok(None),
        (false, Some(_)) => Err(EtcdError::Missing(key::CHARTER.into())),
    }
}
