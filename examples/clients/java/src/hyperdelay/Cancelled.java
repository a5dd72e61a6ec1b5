package hyperdelay;

/**
 * The result of a cancel.
 *
 * @param found false if the task did not exist; it can also be false if the connection was lost
 *     before the reply and the request was sent again
 * @param inFlight whether a consumer may have the task now; its acknowledgement then removes
 *     nothing. If false, no copy of the task is delivered after the reply
 */
public record Cancelled(boolean found, boolean inFlight) {}
