package hyperdelay;

import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.UUID;

/**
 * A payload to be delivered to a route at a time. Route and id are its name.
 *
 * @param id 1 to 128 bytes; null makes a UUID at once, so that the task is the same one however often it is scheduled
 * @param route 1 to 128 bytes
 * @param fireAt when it is due, rounded up to a millisecond, so that it is never early; past: now; null: the present
 * @param compression a label that travels with the payload: {@code none} (for null), {@code lz4} or {@code zstd}
 * @param payload not copied, and not looked into
 * @param replace makes this the next revision of the task if there is one of this name with other content, which is an error
 *     otherwise, with the code {@code duplicate_id}
 */
public record Task(String id, String route, Instant fireAt, String compression, byte[] payload, boolean replace) {
    public Task {
        Objects.requireNonNull(payload, "payload");
        Wire.requireRoute(route);
        id = id == null ? UUID.randomUUID().toString() : id;
        fireAt = fireAt == null ? Instant.now() : fireAt;
        compression = compression == null ? "none" : compression;
    }

    /** A task that is due at a time, under a new UUID. */
    public static Task at(Instant fireAt, String route, byte[] payload) {
        return new Task(null, route, fireAt, null, payload, false);
    }

    /** A task that is due after a delay from now, under a new UUID. */
    public static Task after(Duration delay, String route, byte[] payload) {
        return at(Instant.now().plus(delay), route, payload);
    }

    public Task withId(String id) {
        return new Task(Objects.requireNonNull(id, "id"), route, fireAt, compression, payload, replace);
    }

    public Task withCompression(String compression) {
        return new Task(id, route, fireAt, compression, payload, replace);
    }

    /** The same, to replace the task of this name if there is one. */
    public Task replacing() {
        return new Task(id, route, fireAt, compression, payload, true);
    }
}
