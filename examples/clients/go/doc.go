// Package hyperdelay is a client of hyper-delay, a durable delayed-task server.
//
// A Client has one connection, on which it schedules tasks and listens on routes. When the
// connection is lost, the client reconnects with backoff and jitter, registers its routes again,
// and sends the requests without a reply again. Guarantees:
//
//   - Schedule returns without an error only after the task is on the server's disk. Every task has
//     an id before it is sent, so that sending it again makes no second copy.
//   - A delivery is acknowledged after its handler has returned nil, and given back after an error
//     or a panic.
//   - Delivery is at least once: a task whose acknowledgement was lost is delivered again.
//     Recognize it by route and id.
//
// The client speaks version 2 of the protocol in crates/hyper-delay/PROTOCOL.md, and version 1 with
// an older server.
package hyperdelay
