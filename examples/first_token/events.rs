use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::Error;

/// The data of server-sent events, which a blank line ends.
pub(crate) struct Events {
    body: Incoming,
    unread: Vec<u8>,
}

impl Events {
    pub(crate) fn new(body: Incoming) -> Self {
        let unread = Vec::new();
        Self { body, unread }
    }

    /// Returns the data of the next event, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, Error> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = self.unread.drain(..end + 2).collect();
                let event = String::from_utf8(event)?;
                let data = event.lines().filter_map(|line| line.strip_prefix("data: "));
                return Ok(Some(data.collect::<Vec<_>>().join("\n")));
            }
            match self.body.frame().await {
                Some(frame) => {
                    if let Ok(data) = frame?.into_data() {
                        self.unread.extend_from_slice(&data);
                    }
                }
                None if self.unread.is_empty() => return Ok(None),
                None => return Err("the answer ends within an event".into()),
            }
        }
    }
}
