//! One attempt: asks a resolver over UDP for the IPv4 and IPv6 addresses of a name.

use std::{
    error, fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use futures::future::try_join;
use hickory_proto::{
    ProtoError,
    op::{Message, MessageType, Query, ResponseCode},
    rr::{Name, RecordType},
};
use tokio::net::UdpSocket;

/// Returns the addresses that the resolver answers; never empty.
///
/// # Cancel safety
///
/// Dropping the future closes the sockets.
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
    // The socket then receives from this resolver only.
    socket.connect(resolver).await?;

    let mut question = Message::query(); // with a random id
    question.metadata.recursion_desired = true;
    question.add_query(query);
    socket.send(&question.to_vec()?).await?;

    let mut packet = [0; 4096];
    loop {
        let length = socket.recv(&mut packet).await?;
        // A reply to another question may be forged, so it is ignored.
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

/// Skips aliases: a recursive resolver adds their addresses.
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

/// Why a resolver failed.
#[derive(Debug)]
pub(crate) enum AskError {
    Socket(io::Error),
    Encode(ProtoError),
    Code(ResponseCode),
    Truncated,
    NoAddress,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                f.write_str("connection refused; check the address and the port")
            }
            Self::Socket(error) => write!(f, "cannot send: {error}"),
            Self::Encode(error) => write!(f, "cannot encode the question: {error}"),
            Self::Code(ResponseCode::NXDomain) => f.write_str("NXDOMAIN: the name does not exist"),
            Self::Code(ResponseCode::ServFail) => f.write_str("SERVFAIL: the resolver failed"),
            Self::Code(ResponseCode::Refused) => f.write_str("REFUSED: the resolver refused"),
            Self::Code(code) => write!(f, "code {}: {code}", u16::from(*code)),
            Self::Truncated => f.write_str("truncated: too long for UDP, and TCP is not tried"),
            Self::NoAddress => f.write_str("the name has no address"),
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
