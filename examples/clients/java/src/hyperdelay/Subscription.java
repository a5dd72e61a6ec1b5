package hyperdelay;

import java.util.concurrent.CompletableFuture;

/**
 * The registration of a route with its handler. It stays registered over reconnects until it ends.
 */
public final class Subscription {
    final String route;
    final Handler handler;
    final String tag;
    final byte[] line;
    private final Link link;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();

    // The fields below belong to the client's thread.
    /** Whether it is not registered again. */
    boolean leaving;
    /** Whether it starts no more handlers. */
    boolean stopped;
    int running;
    HyperDelayException lost;

    Subscription(Link link, String route, Handler handler, String tag, byte[] line) {
        this.link = link;
        this.route = route;
        this.handler = handler;
        this.tag = tag;
        this.line = line;
    }

    /**
     * Unregisters the route, and ends when the running handlers have ended and the server has read
     * their answers. Does not block.
     *
     * @return {@link #ended}
     */
    public CompletableFuture<Void> stop() {
        link.stop(this);
        return ended();
    }

    /**
     * Completes after {@link #stop}, or fails with a {@link RouteLostException} if another consumer
     * took the route, a {@link ServerException} if the server refused the registration, or a {@link
     * ClientClosedException} if the client was closed.
     */
    public CompletableFuture<Void> ended() {
        return ended.copy();
    }

    void end(HyperDelayException why) {
        if (why == null) {
            ended.complete(null);
        } else {
            ended.completeExceptionally(why);
        }
    }

    boolean hasEnded() {
        return ended.isDone();
    }
}
