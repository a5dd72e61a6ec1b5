package hyperdelay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * A request without a reply. It is sent on each session until the reply arrives. It is abandoned
 * when its future is completed otherwise, for example by a timeout; its reply may still arrive.
 */
final class Call<T> {
    final ObjectNode request;
    /** The only session on which the call may be sent; null: any session. */
    final Session bound;
    final CompletableFuture<T> future = new CompletableFuture<>();
    private final Function<JsonNode, T> decode;
    byte[] line;
    private Session sentOn;
    private long sentAs;

    Call(ObjectNode request, Session bound, Function<JsonNode, T> decode) {
        this.request = request;
        this.bound = bound;
        this.decode = decode;
    }

    void sendOn(Session session) {
        sentOn = session;
        sentAs = session.send(line);
    }

    /** Whether the call was last sent on this line of this session. */
    boolean sentAs(Session session, long line) {
        return sentOn == session && sentAs == line;
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
