package hyperdelay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Maintains a session. When it is lost, opens another one, registers the routes again, and sends
 * the requests without a reply again. Its state belongs to the loop's thread; {@link #ask}, {@link
 * #listen}, {@link #stop} and {@link #close} may be called from any thread.
 */
final class Link implements Session.Owner {
    private static final Duration FAREWELL = Duration.ofSeconds(5);

    private final String host;
    private final int port;
    private final ClientOptions options;
    private final EventLoop loop;
    private final Backoff backoff;
    private final Calls calls;
    private final Handling handling;
    private final Map<String, Subscription> subscriptions = new HashMap<>();
    /** Null while there is no connection. */
    private Session session;
    private Session opening;
    private boolean closed;

    Link(String host, int port, ClientOptions options, EventLoop loop) {
        this.host = host;
        this.port = port;
        this.options = options;
        this.loop = loop;
        backoff = new Backoff(options.minBackoff, options.maxBackoff);
        calls = new Calls(options);
        handling = new Handling(options, loop, this::sayGoodbye);
    }

    /** Connects for the first time. Tries once, as an error here usually means a wrong address. */
    CompletableFuture<Session> connect() {
        return CompletableFuture.supplyAsync(this::open, loop).thenCompose(greeted -> greeted);
    }

    private CompletableFuture<Session> open() {
        Session opened = new Session(options, host, port, this);
        opening = opened;
        ChannelInitializer<Channel> initializer;
        try {
            initializer = opened.initializer();
        } catch (HyperDelayException e) {
            opened.end(e);
            return opened.greeted;
        }
        int millis = (int) Math.min(Integer.MAX_VALUE, options.connectTimeout.toMillis());
        new Bootstrap().group(loop).channel(NioSocketChannel.class).handler(initializer)
            .option(ChannelOption.TCP_NODELAY, true).option(ChannelOption.CONNECT_TIMEOUT_MILLIS, millis)
            .connect(host, port).addListener(connected -> {
                if (!connected.isSuccess()) {
                    opened.end(connected.cause());
                }
            });
        var timer = loop.schedule(
            () -> opened.end(new HyperDelayException("no reply to hello within " + options.connectTimeout)),
            millis, TimeUnit.MILLISECONDS);
        return opened.greeted.whenComplete((greeted, why) -> {
            timer.cancel(false);
            if (why == null) {
                attach(opened);
            }
        });
    }

    private void reopenLater() {
        if (closed) {
            return;
        }
        loop.schedule(() -> {
            if (!closed) {
                open().whenComplete((greeted, why) -> {
                    if (why != null) {
                        HyperDelayClient.LOG.log(Level.WARNING, "connect to {0}:{1} again: {2}", host, "" + port,
                            why.getCause() == null ? why : why.getCause());
                        reopenLater();
                    }
                });
            }
        }, backoff.nextMillis(), TimeUnit.MILLISECONDS);
    }

    /** Sends the registrations, then the requests without a reply, in their order. */
    private void attach(Session opened) {
        backoff.reset();
        session = opened;
        subscriptions.values().stream().filter(one -> !one.leaving).forEach(one -> opened.send(one.line));
        calls.all().stream().filter(call -> !call.abandoned()).forEach(call -> call.sendOn(opened));
    }

    @Override
    public void ended(Session lost, Throwable why) {
        session = null;
        handling.ended(lost);
        calls.endIf(call -> call.bound == lost, new ConnectionLostException());
        if (!closed) {
            HyperDelayClient.LOG.log(Level.WARNING, "the connection to {0}:{1} was lost: {2}", host, "" + port, why);
        }
        reopenLater();
    }

    /** Handles a line. Ignores unknown kinds. */
    @Override
    public void take(Session from, JsonNode line) {
        String kind = Wire.text(line, "kind");
        String tag = Wire.text(line, "tag");
        if (kind.equals("delivery")) {
            Delivery delivery = new Delivery(this, from, line);
            Subscription subscription = subscriptions.get(delivery.route());
            if (subscription == null || subscription.stopped) {
                handling.giveBack(delivery, Duration.ZERO, null, false);
            } else {
                handling.take(subscription, delivery);
            }
        } else if (!tag.isEmpty()) {
            if (kind.equals("error") && !Wire.text(line, "code").equals("shutting_down")) {
                List.copyOf(subscriptions.values()).stream().filter(one -> one.tag.equals(tag))
                    .forEach(one -> lose(one, new ServerException(line)));
            }
            calls.answer(tag, line);
        } else if (kind.equals("unregistered") && !Wire.text(line, "reason").equals("asked")) {
            Subscription subscription = subscriptions.get(Wire.text(line, "route_key"));
            if (subscription != null) {
                lose(subscription, new RouteLostException(subscription.route, Wire.text(line, "reason")));
            }
        } else if (kind.equals("error")) {
            ServerException error = new ServerException(line);
            if (!calls.failUnread(from, error)) {
                HyperDelayClient.LOG.log(Level.WARNING, error.getMessage());
            }
        }
    }

    /**
     * Sends a request, again after each reconnect. If it is bound to a session, it is sent on that
     * one only.
     */
    <T> CompletableFuture<T> ask(ObjectNode request, Session bound, Function<JsonNode, T> decode) {
        Call<T> call = new Call<>(request, bound, decode);
        try {
            calls.prepare(call);
        } catch (RuntimeException e) {
            call.fail(e);
            return call.future;
        }
        onLoop(() -> {
            if (closed) {
                calls.release();
                call.fail(new ClientClosedException());
            } else if (bound != null && (bound != session || !bound.isOpen())) {
                calls.release();
                call.fail(new ConnectionLostException());
            } else {
                calls.add(call);
                if (session != null) {
                    call.sendOn(session);
                }
            }
        }, () -> call.fail(new ClientClosedException()));
        return call.future;
    }

    Subscription listen(String route, Handler handler, boolean exclusive) {
        ObjectNode request = Wire.request("register").put("route_key", route).put("credit", options.credit);
        if (exclusive) {
            request.put("mode", "exclusive");
        }
        String tag = calls.newTag();
        byte[] line = Wire.line(request.put("tag", tag), options.maxLineBytes);
        Subscription subscription = new Subscription(this, route, handler, tag, line);
        onLoop(() -> {
            if (closed) {
                subscription.end(new ClientClosedException());
            } else if (subscriptions.putIfAbsent(route, subscription) != null) {
                subscription.end(new HyperDelayException("route '" + route
                    + "' already has a subscription of this client: end that first, or connect another client"));
            } else if (session != null) {
                session.send(line);
            }
        }, () -> subscription.end(new ClientClosedException()));
        return subscription;
    }

    /**
     * Unregisters the route. Deliveries that arrive before the server has read this are still
     * handled: if they were given back, they could return at once.
     */
    void stop(Subscription subscription) {
        onLoop(() -> {
            if (subscription.leaving || subscription.hasEnded()) {
                return;
            }
            subscription.leaving = true;
            if (session == null) {
                finish(subscription);
            } else {
                ask(Wire.request("unregister").put("route_key", subscription.route), session, line -> null)
                    .orTimeout(FAREWELL.toMillis(), TimeUnit.MILLISECONDS)
                    .whenCompleteAsync((done, failure) -> finish(subscription), loop);
            }
        }, () -> { });
    }

    private void lose(Subscription subscription, HyperDelayException why) {
        subscription.lost = subscription.lost == null ? why : subscription.lost;
        subscription.leaving = true;
        finish(subscription);
    }

    private void finish(Subscription subscription) {
        if (subscription.stopped) {
            return;
        }
        subscription.stopped = true;
        handling.stopped(subscription);
        if (subscription.running == 0) {
            sayGoodbye(subscription);
        }
    }

    /** Ends the subscription when the server has read the answers of its handlers. */
    private void sayGoodbye(Subscription subscription) {
        CompletableFuture<?> read = session == null
            ? CompletableFuture.completedFuture(null)
            : ask(Wire.request("ping"), session, line -> null).orTimeout(FAREWELL.toMillis(), TimeUnit.MILLISECONDS);
        read.whenCompleteAsync((done, failure) -> {
            subscriptions.remove(subscription.route, subscription);
            subscription.end(subscription.lost);
        }, loop);
    }

    /** Stops all subscriptions. The future completes when they have ended. */
    CompletableFuture<Void> stopAll() {
        CompletableFuture<Void> all = new CompletableFuture<>();
        onLoop(() -> CompletableFuture.allOf(subscriptions.values().stream().map(Subscription::stop)
            .toArray(CompletableFuture[]::new)).whenComplete((done, failure) -> all.complete(null)), () -> all.complete(null));
        return all;
    }

    /** Ends the session and everything that waits. */
    void close() {
        onLoop(() -> {
            closed = true;
            HyperDelayException why = new ClientClosedException();
            if (opening != null) {
                opening.end(why);
            }
            calls.endIf(call -> true, why);
            List.copyOf(subscriptions.values()).forEach(one -> one.end(why));
            subscriptions.clear();
        }, () -> { });
    }

    private void onLoop(Runnable work, Runnable ended) {
        try {
            loop.execute(work);
        } catch (RejectedExecutionException e) {
            ended.run();
        }
    }
}
