package hyperdelay;

/**
 * A {@link Handler} throws it if the delivery has not failed: it does not count for the task's
 * maximum of attempts. Other consumers get the task at once, and this one after its first backoff, or
 * all after the delay of a {@link RetryAfterException} that is its cause. From the eleventh time in a
 * row on it counts. For a consumer that is about to end, or is not the right one.
 */
public final class UnharmedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Makes an exception without a cause. */
    public UnharmedException() {
        this(null);
    }

    public UnharmedException(Throwable cause) {
        super("given back unharmed", cause);
    }
}
