package hyperdelay;

import java.time.Duration;

/**
 * A {@link Handler} throws it to set the delay after which the task is due again, instead of the
 * server's backoff.
 */
public final class RetryAfterException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final Duration delay;

    /** Makes an exception without a cause. */
    public RetryAfterException(Duration delay) {
        this(delay, null);
    }

    public RetryAfterException(Duration delay, Throwable cause) {
        super("retry after " + delay, cause);
        if (delay.isNegative()) {
            throw new IllegalArgumentException("the delay is " + delay + ": take zero or more");
        }
        this.delay = delay;
    }

    public Duration delay() {
        return delay;
    }
}
