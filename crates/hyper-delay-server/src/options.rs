use tokio::net::TcpListener;

/// Options of a server that are not in the configuration. Default: none.
#[derive(Debug, Default)]
pub struct ServeOptions {
    #[doc(hidden)]
    pub accept_loss: bool,
    #[doc(hidden)]
    pub http: Option<TcpListener>,
}

impl ServeOptions {
    /// Starts with what is left if acknowledged tasks are missing from the store. Otherwise such a
    /// start is refused. Default: false.
    #[must_use]
    pub const fn accept_loss(mut self, accept: bool) -> Self {
        self.accept_loss = accept;
        self
    }

    /// Serves health, metrics, requests and the page over HTTP to connections of `listener`, from
    /// now on and until the server has ended. Default: no listener; `Config::http_addr` is for the
    /// caller that binds one.
    #[must_use]
    pub fn http(mut self, listener: TcpListener) -> Self {
        self.http = Some(listener);
        self
    }
}
