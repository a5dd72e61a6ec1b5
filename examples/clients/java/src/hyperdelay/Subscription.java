package hyperdelay;

import java.util.concurrent.CompletableFuture;

/** A route that is listened on. It stays registered over reconnects, until it ends. */
public final class Subscription {
    final String route;
    final Handler handler;
    final String tag;
    final byte[] line;
    private final Link link;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();

    // The client's thread only, from here on.
    /** It is not registered again. */
    boolean leaving;
    /** It starts no handlers any more. */
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
     * Unregisters, waits for the handlers that run, and until the server has read their answers. Does not block.
     *
     * @return {@link #ended}
     */
    public CompletableFuture<Void> stop() {
        link.stop(this);
        return ended();
    }

    /**
     * Completes after {@link #stop}; or fails with a {@link RouteLostException} if another consumer took the route, a
     * {@link ServerException} if the server refused the registration, a {@link ClientClosedException} if the client was closed.
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
