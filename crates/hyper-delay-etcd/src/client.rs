use std::{fmt, sync::Arc};

use crate::{
    Delete, Error, Get, GetResponse, Keys, Options, Put, Status, Txn, TxnResponse, Watch,
    auth::Login, delete::DeleteResponse, put::PutResponse, status::StatusRequest,
    transport::Transport, txn::TxnReply,
};

/// A client of one member of etcd. Clones share its connection.
///
/// A call has no deadline of its own, and a response of more than 4 MiB is an error.
///
/// # Cancel safety
///
/// A call that is dropped may still be carried out by etcd.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    login: Option<Arc<Login>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client of the member at `url`, and authenticates its user if it has one. Without
    /// a user, the connection is made with the first call.
    ///
    /// A lost connection is made anew, and a token that etcd does not know any more is replaced,
    /// by the first call that needs it.
    ///
    /// # Errors
    ///
    /// If the URL is not `http` or `https` with a host and perhaps a port, if a certificate cannot
    /// be used, or if the user cannot be authenticated.
    ///
    /// # Panics
    ///
    /// If it is polled outside of a runtime of tokio.
    pub async fn connect(url: &str, options: Options) -> Result<Self, Error> {
        let transport = Transport::new(&options.endpoint(url)?);
        let login = match options.user {
            Some(user) => Some(Arc::new(Login::new(user, &transport).await?)),
            None => None,
        };
        Ok(Self { transport, login })
    }

    /// Reads keys.
    ///
    /// # Errors
    ///
    /// If etcd refuses it or does not answer, as for every call.
    pub async fn get(&self, get: Get) -> Result<GetResponse, Error> {
        self.unary("/etcdserverpb.KV/Range", get).await
    }

    /// Writes a key.
    ///
    /// # Errors
    ///
    /// If etcd refuses it or does not answer: it may be written all the same.
    pub async fn put(&self, put: Put) -> Result<(), Error> {
        let PutResponse {} = self.unary("/etcdserverpb.KV/Put", put).await?;
        Ok(())
    }

    /// Deletes keys, and returns how many.
    ///
    /// # Errors
    ///
    /// If etcd refuses it or does not answer: they may be deleted all the same.
    pub async fn delete(&self, delete: Delete) -> Result<u64, Error> {
        let path = "/etcdserverpb.KV/DeleteRange";
        let response: DeleteResponse = self.unary(path, delete).await?;
        Ok(response.deleted)
    }

    /// Carries out a transaction.
    ///
    /// # Errors
    ///
    /// If etcd refuses it or does not answer: it may be carried out all the same.
    pub async fn txn(&self, txn: Txn) -> Result<TxnResponse, Error> {
        let reply: TxnReply = self.unary("/etcdserverpb.KV/Txn", txn).await?;
        reply.try_into()
    }

    /// Watches keys from now on. Returns when etcd has begun to watch.
    ///
    /// A watch cannot begin at an earlier revision. To read keys and miss no later change, watch
    /// first, and then read with a [`Txn`]: events up to its
    /// [`revision`](TxnResponse::revision) are part of what it has read.
    ///
    /// # Errors
    ///
    /// If the keys are an empty key or a range without keys, or etcd refuses it, which is
    /// [`Error::WatchEnded`] here, or does not answer.
    pub async fn watch(&self, keys: impl Into<Keys>) -> Result<Watch, Error> {
        let keys = keys.into();
        keys.check_watchable()?;
        let transport = &self.transport;
        let Some(login) = &self.login else {
            return Watch::begin(transport, keys, None).await;
        };
        let begin = |token| {
            let keys = keys.clone();
            async move { Watch::begin(transport, keys, Some(&token)).await }
        };
        login.call(transport, begin).await
    }

    /// Returns what the member says about itself.
    ///
    /// # Errors
    ///
    /// If it does not answer.
    pub async fn status(&self) -> Result<Status, Error> {
        let path = "/etcdserverpb.Maintenance/Status";
        self.unary(path, StatusRequest {}).await
    }

    async fn unary<Q, A>(&self, path: &'static str, message: Q) -> Result<A, Error>
    where
        Q: prost::Message + Clone + 'static,
        A: prost::Message + Default + 'static,
    {
        let transport = &self.transport;
        let Some(login) = &self.login else {
            return transport.unary(path, message, None).await;
        };
        let call = |token| {
            let message = message.clone();
            async move { transport.unary(path, message, Some(&token)).await }
        };
        login.call(transport, call).await
    }
}
