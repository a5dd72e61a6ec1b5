// Package hyperdelay is a client of hyper-delay, the server of durable delayed tasks.
//
// A Client keeps one connection, over which it schedules tasks and listens on routes. When the connection is lost it makes
// another, with backoff and jitter; registers its routes again; and sends again what was not answered. What this promises:
//
//   - Schedule returns without an error only after the server has the task on disk. Every task has an id before it is sent,
//     so that sending it again does not double it.
//   - A delivery is acknowledged after its handler returned nil, and given back after an error or a panic.
//   - Delivery is at least once: a task whose acknowledgement was lost comes again. The pair of route and id tells it so.
//
// The protocol is in crates/hyper-delay/PROTOCOL.md.
package hyperdelay
