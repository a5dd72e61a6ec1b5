/**
 * A client of hyper-delay, a durable delayed-task server: see {@link hyperdelay.HyperDelayClient}.
 * It speaks version 2 of the protocol in {@code crates/hyper-delay/PROTOCOL.md}, and version 1 with
 * an older server.
 */
package hyperdelay;
