use hyper_delay_client::{Token, TokenError};

use super::{LoadError, Wire, reply::LoadReply};

/// Shows the token, and waits until it is accepted. Does not send it in clear to another machine.
pub(super) async fn authenticate(wire: &mut Wire, token: &Token) -> Result<(), LoadError> {
    if !wire.is_private() {
        return Err(TokenError::Unencrypted.into());
    }
    // The file is read by each connection, and small.
    let token = token.reveal()?;
    let line = serde_json::json!({"kind": "auth", "token": token});
    wire.out.extend_from_slice(format!("{line}\n").as_bytes());
    loop {
        wire.exchange().await?;
        match wire.next() {
            None => {}
            Some(Ok(LoadReply::Authenticated)) => return Ok(()),
            Some(Ok(reply)) => return Err(LoadError::Answer(format!("{reply:?}"))),
            Some(Err(error)) => return Err(error),
        }
    }
}
