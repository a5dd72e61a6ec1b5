package hyperdelay;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;

/**
 * A payload for a route at a time. Route and id are its name.
 *
 * @param id 1 to 128 bytes; null makes a UUID at once, so that every schedule of this object means
 *     the same task
 * @param route 1 to 128 bytes
 * @param fireAt the time it is due, rounded up to a millisecond, so that it is never early; a past
 *     time and null mean now
 * @param compression the compression that the payload has already: {@code lz4} or {@code zstd}; for
 *     {@code none}, and null, the client compresses it as {@link ClientOptions#compress} says
 * @param payload not copied
 * @param replace whether to replace a task that has the same name and other content; otherwise such
 *     a task is an error with the code {@code duplicate_id}
 * @param headers names and values for the consumer, such as {@code traceparent}; they are not
 *     content, so that the same task with other headers is the same
 * @param terms what applies to this task only
 */
public record Task(String id, String route, Instant fireAt, String compression, byte[] payload, boolean replace,
    Map<String, String> headers, Terms terms) {
    public Task {
        Objects.requireNonNull(payload, "payload");
        Wire.requireRoute(route);
        id = id == null ? UUID.randomUUID().toString() : id;
        fireAt = fireAt == null ? Instant.now() : fireAt;
        compression = compression == null ? "none" : compression;
        headers = headers == null ? Map.of() : Map.copyOf(headers);
        terms = terms == null ? Terms.NONE : terms;
    }

    /** Makes a task without headers and terms. */
    public Task(String id, String route, Instant fireAt, String compression, byte[] payload, boolean replace) {
        this(id, route, fireAt, compression, payload, replace, null, null);
    }

    /** Makes a task that is due at a time, with a new UUID. */
    public static Task at(Instant fireAt, String route, byte[] payload) {
        return new Task(null, route, fireAt, null, payload, false);
    }

    /** Makes a task that is due after a delay from now, with a new UUID. */
    public static Task after(Duration delay, String route, byte[] payload) {
        return at(Instant.now().plus(delay), route, payload);
    }

    public Task withId(String id) {
        return new Task(Objects.requireNonNull(id, "id"), route, fireAt, compression, payload, replace, headers, terms);
    }

    public Task withCompression(String compression) {
        return new Task(id, route, fireAt, compression, payload, replace, headers, terms);
    }

    public Task withHeader(String name, String value) {
        Map<String, String> all = new HashMap<>(headers);
        all.put(name, value);
        return new Task(id, route, fireAt, compression, payload, replace, all, terms);
    }

    public Task withTerms(Terms terms) {
        return new Task(id, route, fireAt, compression, payload, replace, headers, terms);
    }

    /** Returns a copy that replaces a task of the same name. */
    public Task replacing() {
        return new Task(id, route, fireAt, compression, payload, true, headers, terms);
    }
}
