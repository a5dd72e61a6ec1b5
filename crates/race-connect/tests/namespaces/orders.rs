//! A name server that answers for HTTPS, AAAA and A in every order, and never.

use std::{
    fmt,
    net::SocketAddr,
    time::{Duration, Instant},
};

use futures::future::join_all;
use race_connect::{
    ConnectError, ConnectFailure, Connected, HappyEyeballs,
    hickory_resolver::proto::rr::RecordType,
    tokio::Connector,
    v3::{Discovery, Origin},
};
use tokio::{net::TcpStream, runtime::Runtime};

use crate::{
    listen,
    name_server::{self, Reply, address, https},
    namespace::{V4, V6, within},
};

/// The time from one answer to the next.
const STEP: Duration = Duration::from_millis(30);

/// So long that a slow machine does not reach it by itself.
const RESOLUTION_DELAY: Duration = Duration::from_millis(1_500);

const DEADLINE: Duration = Duration::from_secs(6);

/// The port of the origin, and that of the service in its HTTPS record.
const HOST_PORT: u16 = 443;
const SERVICE_PORT: u16 = 8443;

/// After how many steps the answers for HTTPS, AAAA and A arrive; `None` is never.
#[derive(Clone, Copy)]
struct Case {
    https: Option<u32>,
    aaaa: Option<u32>,
    a: Option<u32>,
}

/// How a case ends.
#[derive(Debug, PartialEq)]
enum End {
    /// Connected before the Resolution Delay could end.
    AtOnce(SocketAddr),
    /// Connected after the Resolution Delay.
    AfterDelay(SocketAddr),
    Deadline,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = |it: Option<u32>| it.map_or("never".to_owned(), |steps| steps.to_string());
        let [https, aaaa, a] = [self.https, self.aaaa, self.a].map(steps);
        write!(f, "HTTPS {https}, AAAA {aaaa}, A {a}")
    }
}

impl Case {
    /// Every order of every subset of the answers.
    fn all() -> Vec<Self> {
        let steps = [None, Some(0), Some(1), Some(2)];
        let mut cases = Vec::new();
        for https in steps {
            for aaaa in steps {
                for a in steps {
                    cases.push(Self { https, aaaa, a });
                }
            }
        }
        cases.retain(|case| {
            let mut arrive: Vec<_> = [case.https, case.aaaa, case.a]
                .into_iter()
                .flatten()
                .collect();
            arrive.sort_unstable();
            arrive.into_iter().eq(0..case.count()) // one after the other, without a gap
        });
        cases
    }

    fn count(self) -> u32 {
        [self.https, self.aaaa, self.a]
            .into_iter()
            .flatten()
            .map(|_| 1)
            .sum()
    }

    fn reply(self, kind: RecordType) -> Option<Reply> {
        let (steps, records) = match kind {
            RecordType::HTTPS => (self.https?, vec![https(SERVICE_PORT, None)]),
            RecordType::AAAA => (self.aaaa?, vec![address(V6)]),
            _ => (self.a?, vec![address(V4)]),
        };
        let after = STEP * steps;
        Some(Reply { after, records })
    }

    /// The service if its record arrives; IPv6 if its addresses arrive. What never arrives is
    /// waited for until the Resolution Delay ends, except for the addresses of IPv4.
    fn expected(self) -> End {
        let ip = match (self.aaaa, self.a) {
            (Some(_), _) => V6,
            (None, Some(_)) => V4,
            (None, None) => return End::Deadline,
        };
        let port = self.https.map_or(HOST_PORT, |_| SERVICE_PORT);
        let address = SocketAddr::new(ip.parse().unwrap(), port);
        match (self.https, self.aaaa) {
            (Some(_), Some(_)) => End::AtOnce(address),
            _ => End::AfterDelay(address),
        }
    }

    async fn end(self) -> End {
        end(move |kind| self.reply(kind)).await
    }
}

/// Connects by what a name server says.
async fn connect(
    reply: impl Fn(RecordType) -> Option<Reply> + Send + 'static,
) -> Result<Connected<TcpStream>, ConnectError> {
    let resolver = name_server::start(move |_, kind| reply(kind)).await;
    let settings = HappyEyeballs::new()
        .resolution_delay(RESOLUTION_DELAY)
        .deadline(DEADLINE);
    let connector = Connector::new(settings).resolver(Discovery::new(resolver));
    connector
        .connect_to(&Origin::https("host.test", HOST_PORT))
        .await
}

async fn end(reply: impl Fn(RecordType) -> Option<Reply> + Send + 'static) -> End {
    match connect(reply).await {
        Ok(connected) if connected.elapsed < RESOLUTION_DELAY => End::AtOnce(connected.address),
        Ok(connected) => End::AfterDelay(connected.address),
        Err(error) => {
            assert_eq!(error.reason(), ConnectFailure::Deadline(DEADLINE));
            End::Deadline
        }
    }
}

#[test]
fn answers_connect_to_the_right_endpoint_in_every_order() {
    within(
        "orders::answers_connect_to_the_right_endpoint_in_every_order",
        "route v6; route v4",
        || {
            let _servers = [V6, V4].map(|ip| [HOST_PORT, SERVICE_PORT].map(|it| listen(ip, it)));
            let cases = Case::all();
            assert_eq!(cases.len(), 6 + 3 * 2 + 3 + 1);
            let began = Instant::now();
            let ends = cases.iter().map(|case| case.end());
            let ends = Runtime::new().unwrap().block_on(join_all(ends));
            for (case, end) in cases.iter().zip(ends) {
                assert_eq!(end, case.expected(), "{case}");
            }
            println!("{} cases in {:.1?}", cases.len(), began.elapsed());
        },
    );
}

#[test]
fn hints_connect_if_addresses_never_arrive() {
    within(
        "orders::hints_connect_if_addresses_never_arrive",
        "route v6; route v4",
        || {
            let _server = listen(V6, SERVICE_PORT);
            let reply = |kind| match kind {
                RecordType::HTTPS => {
                    let hints = (V4.parse().unwrap(), V6.parse().unwrap());
                    Reply::now(vec![https(SERVICE_PORT, Some(hints))])
                }
                _ => None,
            };
            let ended = Runtime::new().unwrap().block_on(end(reply));
            let expected = SocketAddr::new(V6.parse().unwrap(), SERVICE_PORT);
            assert_eq!(ended, End::AtOnce(expected));
        },
    );
}
