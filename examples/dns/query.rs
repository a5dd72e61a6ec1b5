//! One attempt: a resolver is asked over UDP for the IPv4 and the IPv6 addresses of a name.

use std::{
    error, fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use futures::future::try_join;
use hickory_proto::{
    ProtoError,
    op::{Message, MessageType, Query, ResponseCode},
    rr::{Name, RecordType},
};
use tokio::net::UdpSocket;

/// What the resolver knows; never empty.
///
/// # Cancel safety
///
/// Dropping it closes the sockets. The resolver may still answer; nobody hears it.
pub(crate) async fn addresses(resolver: SocketAddr, name: Name) -> Result<Vec<IpAddr>, AskError> {
    let v4 = Query::query(name.clone(), RecordType::A);
    let v6 = Query::query(name, RecordType::AAAA);
    let (mut all, v6) = try_join(ask(resolver, v4), ask(resolver, v6)).await?;
    all.extend(v6);
    match all.is_empty() {
        true => Err(AskError::NoAddress),
        false => Ok(all),
    }
}

async fn ask(resolver: SocketAddr, query: Query) -> Result<Vec<IpAddr>, AskError> {
    let any: IpAddr = match resolver {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).await?;
    // From then on the socket hears this resolver alone.
    socket.connect(resolver).await?;

    let mut question = Message::query(); // with an id that nobody can guess
    question.metadata.recursion_desired = true;
    question.add_query(query);
    socket.send(&question.to_vec()?).await?;

    let mut packet = [0; 4096];
    loop {
        let length = socket.recv(&mut packet).await?;
        // What answers another question may be forged, so the wait goes on.
        match Message::from_vec(&packet[..length]) {
            Ok(reply) if is_reply(&reply, &question) => return read(&reply),
            _ => {}
        }
    }
}

fn is_reply(reply: &Message, question: &Message) -> bool {
    reply.metadata.message_type == MessageType::Response
        && reply.metadata.id == question.metadata.id
        && reply.queries == question.queries
}

/// Aliases are passed over: who is asked to recurse adds what they lead to.
fn read(reply: &Message) -> Result<Vec<IpAddr>, AskError> {
    if reply.metadata.response_code != ResponseCode::NoError {
        return Err(AskError::Code(reply.metadata.response_code));
    }
    if reply.metadata.truncation {
        return Err(AskError::Truncated);
    }
    let addresses = reply.answers.iter().filter_map(|it| it.data.ip_addr());
    Ok(addresses.collect())
}

/// Why a resolver has failed.
#[derive(Debug)]
pub(crate) enum AskError {
    Socket(io::Error),
    Encode(ProtoError),
    Code(ResponseCode),
    Truncated,
    NoAddress,
    TimedOut(Duration),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                f.write_str("nobody listens there; check the address and the port")
            }
            Self::Socket(error) => write!(f, "cannot ask: {error}"),
            Self::Encode(error) => write!(f, "cannot write the question: {error}"),
            Self::Code(ResponseCode::NXDomain) => f.write_str("NXDOMAIN: there is no such name"),
            Self::Code(ResponseCode::ServFail) => f.write_str("SERVFAIL: it could not find out"),
            Self::Code(ResponseCode::Refused) => f.write_str("REFUSED: it does not answer us"),
            Self::Code(code) => write!(f, "code {}: {code}", u16::from(*code)),
            Self::Truncated => f.write_str("truncated: too long for udp, and tcp is not tried"),
            Self::NoAddress => f.write_str("the name has no address"),
            Self::TimedOut(timeout) => write!(f, "no answer when {timeout:?} were over"),
        }
    }
}

impl error::Error for AskError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Socket(error) => Some(error),
            Self::Encode(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> Self {
        Self::Socket(error)
    }
}

impl From<ProtoError> for AskError {
    fn from(error: ProtoError) -> Self {
        Self::Encode(error)
    }
}
