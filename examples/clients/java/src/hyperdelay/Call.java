package hyperdelay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * A request that waits for its answer, over as many sessions as it takes. It is abandoned when somebody else, a timeout for
 * one, has completed its future; its answer is then still to come.
 */
final class Call<T> {
    final ObjectNode request;
    /** The only session that the call makes sense on, or null. */
    final Session bound;
    final CompletableFuture<T> future = new CompletableFuture<>();
    private final Function<JsonNode, T> decode;
    byte[] line;

    Call(ObjectNode request, Session bound, Function<JsonNode, T> decode) {
        this.request = request;
        this.bound = bound;
        this.decode = decode;
    }

    boolean abandoned() {
        return future.isDone();
    }

    void answer(JsonNode line) {
        try {
            future.complete(decode.apply(line));
        } catch (RuntimeException e) {
            future.completeExceptionally(e);
        }
    }

    void fail(Throwable why) {
        future.completeExceptionally(why);
    }
}
