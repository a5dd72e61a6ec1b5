package hyperdelay;

import java.time.Duration;
import java.util.concurrent.Executor;

/** The options of a client. A client keeps a copy of what they were when it was connected. */
public final class ClientOptions {
    int credit = 64;
    int maxLineBytes = 65_536;
    int maxPending = 4_096;
    Duration minBackoff = Duration.ofMillis(100);
    Duration maxBackoff = Duration.ofSeconds(10);
    Duration connectTimeout = Duration.ofSeconds(10);
    Duration keepAlive = Duration.ofSeconds(15);
    Duration closeTimeout = Duration.ofSeconds(5);
    Executor handlers;

    ClientOptions copy() {
        return new ClientOptions().credit(credit).maxLineBytes(maxLineBytes).maxPending(maxPending)
            .backoff(minBackoff, maxBackoff).connectTimeout(connectTimeout).keepAlive(keepAlive).closeTimeout(closeTimeout)
            .handlers(handlers);
    }

    /** How many deliveries may be in flight, and how many handlers run at a time: 1 to 65,535, by default 64. */
    public ClientOptions credit(int credit) {
        this.credit = within("credit", credit, 1, 65_535);
        return this;
    }

    /** The longest line that is sent or taken, 65,536 by default: the server's {@code max_line_bytes}. */
    public ClientOptions maxLineBytes(int bytes) {
        maxLineBytes = within("maxLineBytes", bytes, 1_024, 1 << 30);
        return this;
    }

    /** How many requests may wait for their answers, 4,096 by default; those beyond fail at once. */
    public ClientOptions maxPending(int requests) {
        maxPending = within("maxPending", requests, 1, Integer.MAX_VALUE);
        return this;
    }

    /** The bounds of the wait before the connection is tried again: by default 100 ms and 10 s. */
    public ClientOptions backoff(Duration min, Duration max) {
        minBackoff = positive("the least backoff", min);
        maxBackoff = positive("the largest backoff", max);
        return this;
    }

    /** For one try to connect, until the server has answered a ping: by default 10 s. */
    public ClientOptions connectTimeout(Duration timeout) {
        connectTimeout = positive("connectTimeout", timeout);
        return this;
    }

    /** The silence after which the client sends a ping; after twice that the connection counts as lost. By default 15 s. */
    public ClientOptions keepAlive(Duration silence) {
        keepAlive = positive("keepAlive", silence);
        return this;
    }

    /** How long {@link HyperDelayClient#close} waits for the handlers that run: by default 5 s. */
    public ClientOptions closeTimeout(Duration timeout) {
        closeTimeout = positive("closeTimeout", timeout);
        return this;
    }

    /** Where handlers run. By default, and for null: threads of the client's own, one for each credit in use. */
    public ClientOptions handlers(Executor handlers) {
        this.handlers = handlers;
        return this;
    }

    private static int within(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(name + " is " + value + ": take " + min + " to " + max);
        }
        return value;
    }

    private static Duration positive(String name, Duration value) {
        if (value.toMillis() < 1) {
            throw new IllegalArgumentException(name + " is " + value + ": take at least a millisecond");
        }
        return value;
    }
}
