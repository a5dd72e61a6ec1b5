//! Three resolvers on loopback for the demo: one does not answer, one fails, one answers.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use hickory_proto::{
    op::{Message, ResponseCode},
    rr::{RData, Record, RecordType},
};
use tokio::net::UdpSocket;

pub(crate) const HOST: &str = "race.example";

pub(crate) const WHAT: &str = "\
no resolver given, using three on loopback: #0 does not answer, #1 fails, #2 answers

";

/// Starts the resolvers, each in a task that ends with the runtime.
pub(crate) async fn start() -> io::Result<Vec<SocketAddr>> {
    let behaviours: [fn(&Message) -> Option<Message>; 3] = [|_| None, fail, answer];
    let mut resolvers = Vec::new();
    for reply in behaviours {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        resolvers.push(socket.local_addr()?);
        tokio::spawn(serve(socket, reply));
    }
    Ok(resolvers)
}

async fn serve(socket: UdpSocket, reply: fn(&Message) -> Option<Message>) -> io::Result<()> {
    let mut packet = [0; 512];
    loop {
        let (length, client) = socket.recv_from(&mut packet).await?;
        let question = Message::from_vec(&packet[..length]);
        if let Some(Ok(reply)) = question
            .ok()
            .and_then(|question| reply(&question))
            .map(|reply| reply.to_vec())
        {
            socket.send_to(&reply, client).await?;
        }
    }
}

fn fail(question: &Message) -> Option<Message> {
    let mut reply = begin(question);
    reply.metadata.response_code = ResponseCode::ServFail;
    Some(reply)
}

/// Answers with addresses reserved for documentation (RFC 5737, RFC 3849).
fn answer(question: &Message) -> Option<Message> {
    let mut reply = begin(question);
    let query = question.queries.first()?;
    let address = match query.query_type() {
        RecordType::A => RData::A(Ipv4Addr::new(192, 0, 2, 7).into()),
        RecordType::AAAA => RData::AAAA(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7).into()),
        _ => return Some(reply),
    };
    reply.add_answer(Record::from_rdata(query.name().clone(), 60, address));
    Some(reply)
}

fn begin(question: &Message) -> Message {
    let mut reply = Message::response(question.metadata.id, question.metadata.op_code);
    reply.add_queries(question.queries.iter().cloned());
    reply
}
