package hyperdelay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import java.util.Base64;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/** A copy of a task for this client. */
public final class Delivery {
    final Session session;
    private final Link link;
    private final String id;
    private final String route;
    private final long fireAt;
    private final String compression;
    private final long attempt;
    private final String base64;
    private final AtomicBoolean answered = new AtomicBoolean();
    private byte[] payload;

    Delivery(Link link, Session session, JsonNode line) {
        this.link = link;
        this.session = session;
        id = Wire.text(line, "id");
        route = Wire.text(line, "route_key");
        fireAt = line.path("fire_at").asLong();
        compression = Wire.text(line, "compression");
        attempt = line.path("attempt").asLong();
        base64 = Wire.text(line, "payload_base64");
    }

    /** Decodes the payload. Throws {@link IllegalArgumentException} if it is not base64. */
    void decode() {
        payload = Base64.getDecoder().decode(base64);
    }

    public String id() {
        return id;
    }

    public String route() {
        return route;
    }

    /** The scheduled time. */
    public Instant fireAt() {
        return Instant.ofEpochMilli(fireAt);
    }

    public byte[] payload() {
        return payload;
    }

    public String compression() {
        return compression;
    }

    /** The number of the task's round, from 1. */
    public long attempt() {
        return attempt;
    }

    /**
     * Acknowledges the delivery from its handler. The stage completes with the reply: true means
     * that the removal is on the server's disk and the task is never delivered again. Handlers that
     * need no such proof return instead. After this call the result of the handler has no effect.
     */
    public CompletableFuture<Boolean> ack() {
        if (!takeAnswer()) {
            return CompletableFuture.failedFuture(
                new IllegalStateException("delivery of task '" + id + "' was already answered: acknowledge it once"));
        }
        return link.ask(answer("ack").put("confirm", true), session, line -> line.path("removed").asBoolean());
    }

    /** Marks the delivery as answered. Returns whether it was unanswered before. */
    boolean takeAnswer() {
        return answered.compareAndSet(false, true);
    }

    /** Returns a request that names the delivery exactly. */
    ObjectNode answer(String kind) {
        return Wire.request(kind).put("id", id).put("route_key", route).put("attempt", attempt);
    }

    @Override
    public String toString() {
        return "task '" + id + "' on route '" + route + "', attempt " + attempt;
    }
}
