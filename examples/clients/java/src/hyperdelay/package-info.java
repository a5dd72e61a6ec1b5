/**
 * A client of hyper-delay, the server of durable delayed tasks: see {@link hyperdelay.HyperDelayClient}. The protocol is in
 * {@code crates/hyper-delay/PROTOCOL.md}.
 */
package hyperdelay;
