package hyperdelay;

import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.time.Instant;
import java.util.Base64;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A connection to a hyper-delay server. When the connection is lost, the client reconnects with
 * backoff and jitter, registers its routes again, and sends the requests without a reply again.
 * Guarantees:
 *
 * <ul>
 *   <li>The future of {@link #schedule} completes only after the task is on the server's disk.
 *       Every task has an id, so that sending it again makes no second copy.
 *   <li>A delivery is acknowledged after its handler has succeeded, and given back after it has
 *       failed.
 *   <li>Delivery is at least once: a task whose acknowledgement was lost is delivered again.
 *       Recognize it by route and id.
 * </ul>
 *
 * <p>Methods may be called from any thread. Futures complete on the client's only thread: do not
 * block in their dependents, or use the methods of {@link CompletableFuture} that end in {@code
 * Async}. All threads are daemons.
 */
public final class HyperDelayClient implements AutoCloseable {
    static final System.Logger LOG = System.getLogger("hyperdelay");

    private final ClientOptions options;
    private final NioEventLoopGroup group = new NioEventLoopGroup(1, new DefaultThreadFactory("hyper-delay", true));
    /** Null if the handlers run on an executor of the user. */
    private final ExecutorService ownHandlers;
    private final Link link;

    private HyperDelayClient(String host, int port, ClientOptions given) {
        options = given.copy();
        ownHandlers = options.handlers == null ? newHandlers(options.credit) : null;
        if (ownHandlers != null) {
            options.handlers(ownHandlers);
        }
        link = new Link(host, port, options, group.next());
    }

    private static ExecutorService newHandlers(int threads) {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(threads, threads, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
            new DefaultThreadFactory("hyper-delay-handler", true));
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    /**
     * Connects to a server with the default options. The address is a host and a port: {@code
     * 127.0.0.1:7000}.
     */
    public static HyperDelayClient connect(String address) {
        return connect(address, new ClientOptions());
    }

    /**
     * Connects to a server and waits for the reply to hello. After that the client reconnects by
     * itself until it is closed.
     *
     * @throws IllegalArgumentException if the address is not a host, a colon and a port
     * @throws HyperDelayException if there is no server, or it refuses the connection
     */
    public static HyperDelayClient connect(String address, ClientOptions options) {
        int colon = address.lastIndexOf(':');
        String port = address.substring(colon + 1);
        if (colon < 1 || !port.matches("[0-9]{1,5}") || Integer.parseInt(port) > 65_535) {
            throw new IllegalArgumentException("the address is '" + address + "': take HOST:PORT, for example 127.0.0.1:7000");
        }
        String host = address.substring(0, colon).replaceAll("^\\[(.*)]$", "$1");
        HyperDelayClient client = new HyperDelayClient(host, Integer.parseInt(port), options);
        try {
            client.link.connect().join();
            return client;
        } catch (CompletionException e) {
            client.close();
            if (e.getCause() instanceof ServerException refused) {
                throw refused;
            }
            throw new HyperDelayException("connect to " + address + ": " + e.getCause().getMessage(), e.getCause());
        }
    }

    /**
     * Schedules a task. The future completes when the task is on the server's disk. If the
     * connection is lost, the task is sent again on the next one; the server keeps one copy.
     *
     * <p>The future fails with a {@link ServerException} or a {@link LineTooLongException} if the
     * task was not scheduled. If it is cancelled, times out, or the client is closed, the task may
     * have been scheduled; it is safe to schedule it again.
     */
    public CompletableFuture<Receipt> schedule(Task task) {
        Compression.Sent sent = task.compression().equals(Compression.NONE)
            ? Compression.compress(task.payload(), options.compress)
            : new Compression.Sent(task.payload(), task.compression());
        var request = Wire.request("schedule").put("id", task.id()).put("route_key", task.route())
            .put("fire_at", task.fireAt().plusNanos(999_999).toEpochMilli()).put("compression", sent.compression())
            .put("payload_base64", Base64.getEncoder().encodeToString(sent.payload()));
        if (task.replace()) {
            request.put("replace", true);
        }
        if (!task.headers().isEmpty()) {
            var headers = request.putObject("headers");
            task.headers().forEach(headers::put);
        }
        task.terms().write(request);
        return link.ask(request, null, line -> new Receipt(Wire.text(line, "id"), Wire.text(line, "route_key"),
            Instant.ofEpochMilli(line.path("fire_at").asLong())));
    }

    /**
     * Registers the route and runs the handler for each delivery, at most {@link
     * ClientOptions#credit} at a time over all routes. Returns at once; see {@link
     * Subscription#ended}. A client has at most one subscription for a route at a time.
     */
    public Subscription listen(String route, Handler handler) {
        Wire.requireRoute(route);
        return link.listen(route, handler, false);
    }

    /**
     * Like {@link #listen}, and takes the route from all other consumers. A later registration
     * takes it away again.
     */
    public Subscription listenExclusive(String route, Handler handler) {
        Wire.requireRoute(route);
        return link.listen(route, handler, true);
    }

    /** Removes a task. The future completes when the removal is on the server's disk. */
    public CompletableFuture<Cancelled> cancel(String route, String id) {
        return link.ask(Wire.request("cancel").put("id", id).put("route_key", route), null,
            line -> new Cancelled(line.path("found").asBoolean(), line.path("in_flight").asBoolean()));
    }

    /** Requests the server's counts, with its first routes. */
    public CompletableFuture<Stats> stats() {
        return link.ask(Wire.request("stats"), null, Wire::stats);
    }

    /** Requests the server's counts, with the routes after this name. */
    public CompletableFuture<Stats> statsAfter(String route) {
        return link.ask(Wire.request("stats").put("after", route), null, Wire::stats);
    }

    /** Requests the server's counts, with this route only. */
    public CompletableFuture<Stats> statsOf(String route) {
        return link.ask(Wire.request("stats").put("route_key", route), null, Wire::stats);
    }

    /** Completes when the server has replied. */
    public CompletableFuture<Void> ping() {
        return link.ask(Wire.request("ping"), null, line -> null);
    }

    /**
     * Stops the subscriptions, waits up to {@link ClientOptions#closeTimeout} for running handlers,
     * and closes the connection. Pending futures fail with {@link ClientClosedException}; the
     * server delivers again what is still in flight. On the client's own thread it does not wait.
     */
    @Override
    public void close() {
        boolean wait = !group.iterator().next().inEventLoop();
        if (wait) {
            try {
                link.stopAll().get(options.closeTimeout.toMillis(), TimeUnit.MILLISECONDS);
            } catch (TimeoutException | ExecutionException e) {
                LOG.log(System.Logger.Level.WARNING, "closing while handlers run: their tasks will be delivered again");
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        link.close();
        if (ownHandlers != null) {
            ownHandlers.shutdown();
        }
        var ended = group.shutdownGracefully(0, options.closeTimeout.toMillis(), TimeUnit.MILLISECONDS);
        if (wait) {
            ended.awaitUninterruptibly();
        }
    }
}
