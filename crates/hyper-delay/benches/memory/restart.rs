use std::time::Instant;

use hyper_delay::internals::load::{LoadError, Wire};
use testkit::Server;

/// Registers `route` immediately, and returns the time of the first delivery.
pub(crate) async fn first_delivery(server: &Server, route: &str) -> Result<Instant, LoadError> {
    let mut wire = Wire::connect(&server.address.to_string(), None).await?;
    let register = format!("{{\"kind\":\"register\",\"route_key\":\"{route}\",\"credit\":1}}\n");
    wire.out.extend_from_slice(register.as_bytes());
    loop {
        wire.exchange().await?;
        while let Some(line) = wire.line() {
            if line?.starts_with(b"{\"kind\":\"delivery\"") {
                return Ok(Instant::now());
            }
        }
    }
}
