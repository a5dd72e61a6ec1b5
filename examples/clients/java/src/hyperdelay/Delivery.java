package hyperdelay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/** A copy of a task for this client. */
public final class Delivery {
    final Session session;
    private final Link link;
    private final String id;
    private final String route;
    private final long fireAt;
    private String compression;
    private final long attempt;
    private final String base64;
    private final Map<String, String> headers = new HashMap<>();
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
        line.path("headers").fields().forEachRemaining(header -> headers.put(header.getKey(), header.getValue().asText()));
    }

    /** Decodes the payload. Throws {@link IllegalArgumentException} if it is not base64. */
    void decode() {
        payload = Base64.getDecoder().decode(base64);
    }

    /** Decompresses the payload, unless it is kept. Ignores a compression of a newer server. */
    void decompress(ClientOptions options) throws IOException {
        if (!options.keepCompressed && Compression.isKnown(compression)) {
            payload = Compression.decompress(payload, compression, options.maxPayloadBytes);
            compression = Compression.NONE;
        }
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

    /** The payload, decompressed unless {@link ClientOptions#keepCompressed} is set. */
    public byte[] payload() {
        return payload;
    }

    /** The compression of {@link #payload}: {@code none} if it is decompressed. */
    public String compression() {
        return compression;
    }

    /** The headers of the task. */
    public Map<String, String> headers() {
        return Map.copyOf(headers);
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

    /**
     * Extends the time for the answer, to {@code extend} from now, or with null to the ack timeout
     * of the task. The stage completes with the end of that time. It fails with an {@link
     * IllegalStateException} if the delivery has been answered or has timed out.
     */
    public CompletableFuture<Instant> touch(Duration extend) {
        ObjectNode touch = answer("touch");
        if (extend != null) {
            touch.put("extend_ms", extend.plusNanos(999_999).toMillis());
        }
        return link.ask(touch, session, line -> {
            if (!line.path("found").asBoolean()) {
                throw new IllegalStateException("delivery of task '" + id + "' was already answered, or has timed out");
            }
            return Instant.ofEpochMilli(line.path("deadline").asLong());
        });
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
