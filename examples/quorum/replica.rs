//! Five simulated replicas of a value.

use std::{error, fmt, future::pending, time::Duration};

use tokio::time::sleep;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) version: u32,
    text: &'static str,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, version {}", self.text, self.version)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure(pub(crate) &'static str);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl error::Error for Failure {}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Replica {
    pub(crate) name: &'static str,
    /// The latency; `None` never answers.
    millis: Option<u64>,
    value: Value,
    pub(crate) failure: Option<Failure>,
}

impl Replica {
    pub(crate) async fn read(self) -> Result<Value, Failure> {
        match self.millis {
            Some(millis) => sleep(Duration::from_millis(millis)).await,
            None => pending().await,
        }
        self.failure.map_or(Ok(self.value), Err)
    }
}

const OLD: Value = Value {
    version: 7,
    text: "blue",
};
const NEW: Value = Value {
    version: 8,
    text: "green",
};

pub(crate) const REPLICAS: [Replica; 5] = [
    replica("amsterdam", Some(20), OLD),
    replica("berlin", None, NEW),
    Replica {
        failure: Some(Failure("disk full")),
        ..replica("cairo", Some(10), OLD)
    },
    replica("dakar", Some(30), NEW),
    replica("eindhoven", Some(15), OLD),
];

const fn replica(name: &'static str, millis: Option<u64>, value: Value) -> Replica {
    Replica {
        name,
        millis,
        value,
        failure: None,
    }
}
