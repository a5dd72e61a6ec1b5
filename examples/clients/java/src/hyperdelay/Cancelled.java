package hyperdelay;

/**
 * What a cancel found.
 *
 * @param found false if there was no such task; it may also be false if the connection was lost before the answer, and the
 *     request had to be sent again
 * @param inFlight a consumer has the task at this moment; its acknowledgement then removes nothing
 */
public record Cancelled(boolean found, boolean inFlight) {}
