package hyperdelay;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;

/** The requests that wait for their answers, by their tags, in the order in which they were asked. For one thread. */
final class Calls {
    private final Map<String, Call<?>> byTag = new LinkedHashMap<>();
    private final AtomicLong lastTag = new AtomicLong();
    private final AtomicInteger pending = new AtomicInteger();
    private final ClientOptions options;

    Calls(ClientOptions options) {
        this.options = options;
    }

    /** For any thread. */
    String newTag() {
        return Long.toString(lastTag.incrementAndGet());
    }

    /**
     * Makes the line of a call and takes a place for it, or throws. Those that are bound to a session are bounded by its credit,
     * and always have a place. For any thread.
     */
    void prepare(Call<?> call) {
        call.request.put("tag", newTag());
        call.line = Wire.line(call.request, options.maxLineBytes);
        if (pending.incrementAndGet() > options.maxPending && call.bound == null) {
            pending.decrementAndGet();
            throw new HyperDelayException("already " + options.maxPending + " requests wait for their answers: wait for some of"
                + " them, or raise ClientOptions.maxPending");
        }
    }

    void add(Call<?> call) {
        byTag.put(tag(call), call);
    }

    /** Gives back the place of a call that was prepared and not added. */
    void release() {
        pending.decrementAndGet();
    }

    Collection<Call<?>> all() {
        return byTag.values();
    }

    /** Fails those that end here, and drops the abandoned ones. */
    void endIf(Predicate<Call<?>> ends, HyperDelayException why) {
        List<Call<?>> ended = new ArrayList<>();
        for (Call<?> call : byTag.values()) {
            if (call.abandoned() || ends.test(call)) {
                ended.add(call);
            }
        }
        for (Call<?> call : ended) {
            remove(call);
            call.fail(why);
        }
    }

    /** Takes a line with a tag to whoever asked. */
    void answer(String tag, JsonNode line) {
        Call<?> call = byTag.get(tag);
        if (call == null) {
            return;
        }
        if (!Wire.text(line, "kind").equals("error")) {
            remove(call);
            call.answer(line);
        } else if (call.bound != null || !Wire.text(line, "code").equals("shutting_down")) {
            remove(call);
            call.fail(new ServerException(line));
        } // Else the session is about to end, and the next one sends it again.
    }

    /**
     * Finds whose line was too long for the server, which could not read its tag: the longest of those under way was too long
     * for sure. Tells whether there was one.
     */
    boolean failLongest(ServerException why) {
        Call<?> longest = null;
        for (Call<?> call : byTag.values()) {
            if (longest == null || call.line.length > longest.line.length) {
                longest = call;
            }
        }
        if (longest == null) {
            return false;
        }
        remove(longest);
        longest.fail(why);
        return true;
    }

    private void remove(Call<?> call) {
        if (byTag.remove(tag(call)) != null) {
            pending.decrementAndGet();
        }
    }

    private static String tag(Call<?> call) {
        return call.request.path("tag").textValue();
    }
}
