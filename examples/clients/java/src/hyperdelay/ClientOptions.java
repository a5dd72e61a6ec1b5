package hyperdelay;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Executor;

/** The options of a client. A client copies them when it connects. */
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
    Tls tls;
    Path tokenFile;
    /** Tests replace it. */
    Map<String, String> environment = System.getenv();
    String compress = Compression.NONE;
    boolean keepCompressed;
    int maxPayloadBytes = 16 << 20;

    ClientOptions copy() {
        ClientOptions copy = new ClientOptions().credit(credit).maxLineBytes(maxLineBytes).maxPending(maxPending)
            .backoff(minBackoff, maxBackoff).connectTimeout(connectTimeout).keepAlive(keepAlive).closeTimeout(closeTimeout)
            .handlers(handlers).tls(tls).tokenFile(tokenFile).compress(compress).keepCompressed(keepCompressed)
            .maxPayloadBytes(maxPayloadBytes);
        copy.environment = environment;
        return copy;
    }

    /**
     * Sets the maximum number of deliveries in flight and of running handlers, 1 to 65,535.
     * Default: 64.
     */
    public ClientOptions credit(int credit) {
        this.credit = within("credit", credit, 1, 65_535);
        return this;
    }

    /**
     * Sets the maximum length of a line in both directions: the server's {@code max_line_bytes}.
     * Default: 65,536.
     */
    public ClientOptions maxLineBytes(int bytes) {
        maxLineBytes = within("maxLineBytes", bytes, 1_024, 1 << 30);
        return this;
    }

    /**
     * Sets the maximum number of requests without a reply; further ones fail at once. Default:
     * 4,096.
     */
    public ClientOptions maxPending(int requests) {
        maxPending = within("maxPending", requests, 1, Integer.MAX_VALUE);
        return this;
    }

    /**
     * Sets the bounds of the wait before the next connection attempt. Defaults: 100 ms and 10 s.
     */
    public ClientOptions backoff(Duration min, Duration max) {
        minBackoff = positive("the least backoff", min);
        maxBackoff = positive("the largest backoff", max);
        return this;
    }

    /** Bounds one connection attempt, including the reply to hello. Default: 10 s. */
    public ClientOptions connectTimeout(Duration timeout) {
        connectTimeout = positive("connectTimeout", timeout);
        return this;
    }

    /**
     * Sets the silence after which the client sends a ping. After twice that time the connection is
     * lost. Default: 15 s.
     */
    public ClientOptions keepAlive(Duration silence) {
        keepAlive = positive("keepAlive", silence);
        return this;
    }

    /** Sets how long {@link HyperDelayClient#close} waits for running handlers. Default: 5 s. */
    public ClientOptions closeTimeout(Duration timeout) {
        closeTimeout = positive("closeTimeout", timeout);
        return this;
    }

    /**
     * Sets the executor of the handlers. Default, and null: threads of the client, at most as many
     * as the credit.
     */
    public ClientOptions handlers(Executor handlers) {
        this.handlers = handlers;
        return this;
    }

    /** Encrypts the connection. Default, and null: it is plain. */
    public ClientOptions tls(Tls tls) {
        this.tls = tls;
        return this;
    }

    /**
     * Sets a file with the token of this client, which is read for each connection. Default, and
     * null: the token in the environment variable {@code HYPER_DELAY_TOKEN}, or else in the file that
     * {@code HYPER_DELAY_TOKEN_FILE} names, or no token. A token is sent over TLS, or to the same
     * machine.
     */
    public ClientOptions tokenFile(Path file) {
        tokenFile = file;
        return this;
    }

    /**
     * Compresses the payloads of scheduled tasks, with {@code lz4} or {@code zstd}. Payloads under
     * 256 bytes are not compressed, nor those that would not become smaller, nor those of a task
     * that names a compression. Default: {@code none}.
     */
    public ClientOptions compress(String compression) {
        if (!compression.equals(Compression.NONE) && !Compression.isKnown(compression)) {
            throw new IllegalArgumentException("compress is '" + compression + "': take none, lz4 or zstd");
        }
        compress = compression;
        return this;
    }

    /**
     * Sets whether payloads are delivered as they are stored. Default: false; a delivery has its
     * payload decompressed, and one that does not decompress is given back.
     */
    public ClientOptions keepCompressed(boolean keep) {
        keepCompressed = keep;
        return this;
    }

    /** Sets the maximum length of a payload that is decompressed. Default: 16 MiB. */
    public ClientOptions maxPayloadBytes(int bytes) {
        maxPayloadBytes = within("maxPayloadBytes", bytes, 1, 1 << 30);
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
