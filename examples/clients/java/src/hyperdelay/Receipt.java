package hyperdelay;

import java.time.Instant;

/** Proves that a task is on the server's disk. */
public record Receipt(String id, String route, Instant fireAt) {}
