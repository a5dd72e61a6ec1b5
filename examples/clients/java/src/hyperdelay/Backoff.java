package hyperdelay;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The wait between two tries to connect: doubled with each failure, drawn evenly from its upper half, so that clients that lost
 * one server do not come back at one moment.
 */
final class Backoff {
    private final long min;
    private final long max;
    private long next;

    Backoff(Duration min, Duration max) {
        this.min = min.toMillis();
        this.max = Math.max(this.min, max.toMillis());
        next = this.min;
    }

    long nextMillis() {
        long wait = next;
        next = Math.min(max, wait * 2);
        return wait - ThreadLocalRandom.current().nextLong(wait / 2 + 1);
    }

    void reset() {
        next = min;
    }
}
