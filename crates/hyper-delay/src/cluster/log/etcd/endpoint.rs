//! One member of etcd.

use std::sync::{Arc, Mutex, PoisonError};

use etcd_client::{Client, ConnectOptions};

/// One member of etcd, and the connection to it.
///
/// The client's own balancing over several members is not used: it sends requests to a member that
/// has stopped, and waits.
pub(super) struct Endpoint {
    url: Arc<str>,
    options: ConnectOptions,
    client: Mutex<Option<Client>>,
}

impl Endpoint {
    /// Creates one that is not connected yet.
    pub(super) fn new(url: &str, options: ConnectOptions) -> Self {
        Self {
            url: url.into(),
            options,
            client: Mutex::default(),
        }
    }

    /// Returns where it is.
    pub(super) const fn url(&self) -> &Arc<str> {
        &self.url
    }

    /// Returns a connection.
    ///
    /// # Errors
    ///
    /// If etcd requires a user and does not let this one in. Otherwise the connection is made with
    /// the first request.
    pub(super) async fn client(&self) -> Result<Client, etcd_client::Error> {
        let present = self.lock().clone();
        if let Some(client) = present {
            return Ok(client);
        }
        let client = Client::connect([&*self.url], Some(self.options.clone())).await?;
        Ok(self.lock().get_or_insert(client).clone())
    }

    /// Uses a new connection from now on: the present one may lead nowhere, and that takes the
    /// operating system many minutes to find out.
    pub(super) fn forget(&self) {
        self.lock().take();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Client>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut endpoint = f.debug_struct("Endpoint");
        endpoint.field("url", &self.url).finish_non_exhaustive()
    }
}
