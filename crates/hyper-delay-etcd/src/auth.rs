//! The user of a client, and its token.

use std::fmt;

use tokio::sync::Mutex;

use crate::{
    Error,
    transport::{Token, Transport},
};

/// A user of etcd. It is the request that authenticates it, too.
#[derive(Clone, PartialEq, Eq, prost::Message)]
#[prost(skip_debug)]
pub(crate) struct User {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    password: String,
}

impl User {
    pub(crate) const fn new(name: String, password: String) -> Self {
        Self { name, password }
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut user = f.debug_struct("User");
        user.field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct AuthenticateResponse {
    #[prost(string, tag = "2")]
    token: String,
}

/// A user with a token. etcd forgets tokens after five minutes without a request, and when it is
/// restarted.
pub(crate) struct Login {
    user: User,
    /// Locked while a new token is asked for: calls wait for it, and it is asked for once.
    token: Mutex<Token>,
}

impl Login {
    /// Authenticates a user.
    pub(crate) async fn new(user: User, transport: &Transport) -> Result<Self, Error> {
        let token = Mutex::new(authenticate(&user, transport).await?);
        Ok(Self { user, token })
    }

    /// Makes a call with the token. Repeats it once, with a new token, if etcd refuses the token.
    pub(crate) async fn call<A, F>(
        &self,
        transport: &Transport,
        call: impl Fn(Token) -> F,
    ) -> Result<A, Error>
    where
        F: Future<Output = Result<A, Error>>,
    {
        let token = self.token.lock().await.clone();
        match call(token.clone()).await {
            Err(error) if error.is_about_token() => {
                call(self.replace(&token, transport).await?).await
            }
            answer => answer,
        }
    }

    /// Replaces a token that etcd has refused, unless another call has done so, and returns the
    /// new one.
    async fn replace(&self, refused: &Token, transport: &Transport) -> Result<Token, Error> {
        let mut token = self.token.lock().await;
        if *token == *refused {
            *token = authenticate(&self.user, transport).await?;
        }
        Ok(token.clone())
    }
}

async fn authenticate(user: &User, transport: &Transport) -> Result<Token, Error> {
    const PATH: &str = "/etcdserverpb.Auth/Authenticate";
    let response: AuthenticateResponse = transport.unary(PATH, user.clone(), None).await?;
    let token = response.token.try_into();
    token.map_err(|_| Error::Incomplete("a token of printable characters"))
}
