//! Endpoints of an origin that an application dials itself, on smol.

use std::io;

use race_connect::{
    ConnectError, Connected, Destination, HappyEyeballs,
    smol::SmolTimer,
    v3::{Discovery, Lookup, Network, Origin, Query, RecordType, Records, ServiceRecord},
};
use smol::net::TcpStream;

/// Knows a service on a port of loopback.
struct Here(u16);

impl Lookup for Here {
    async fn lookup(&self, query: Query) -> io::Result<Records> {
        Ok(match query.kind {
            RecordType::Https => {
                Records::Https(vec![ServiceRecord::service(1, "service.test").port(self.0)])
            }
            RecordType::A if query.name.as_str() == "service.test" => {
                Records::A(vec![[127, 0, 0, 1].into()])
            }
            kind => kind.none(),
        })
    }
}

fn connect(origin: &Origin, port: u16) -> Result<Connected<TcpStream>, ConnectError> {
    let discovery = Discovery::new(Here(port)).network(Network::dual_stack());
    let dial = async |to: Destination| {
        let stream = TcpStream::connect(to.address()).await?;
        to.progress();
        Ok(stream)
    };
    let settings = HappyEyeballs::new();
    smol::block_on(settings.race_endpoints(SmolTimer::new(), &discovery, origin, dial))
}

#[test]
fn service_on_another_port_connects() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let origin = Origin::https("host.test", 443);
    let connected = connect(&origin, address.port()).unwrap();
    assert_eq!(connected.address, address);
    assert_eq!(connected.connection.peer_addr().unwrap(), address);
}

#[test]
fn error_of_endpoints_names_the_origin() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = connect(&Origin::https("Host.test", 443), port).unwrap_err();
    let text = error.to_string();
    let expected = format!("cannot connect to Host.test:443: 127.0.0.1:{port}: ");
    assert!(text.starts_with(&expected), "{text}");

    let error = connect(&Origin::http("nowhere.test", 80), port).unwrap_err();
    assert_eq!(error.to_string(), "nowhere.test:80 has no addresses");
}
