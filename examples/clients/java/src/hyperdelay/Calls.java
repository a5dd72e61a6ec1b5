package hyperdelay;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;

/** The requests without a reply, by tag, in the order in which they were made. For one thread. */
final class Calls {
    private final Map<String, Call<?>> byTag = new LinkedHashMap<>();
    private final AtomicLong lastTag = new AtomicLong();
    private final AtomicInteger pending = new AtomicInteger();
    private final ClientOptions options;

    Calls(ClientOptions options) {
        this.options = options;
    }

    /** Returns a new tag. For any thread. */
    String newTag() {
        return Long.toString(lastTag.incrementAndGet());
    }

    /**
     * Makes the line of a call and reserves a place for it, or throws. A call that is bound to a
     * session always has a place, as the credit bounds those. For any thread.
     */
    void prepare(Call<?> call) {
        call.request.put("tag", newTag());
        call.line = Wire.line(call.request, options.maxLineBytes);
        if (pending.incrementAndGet() > options.maxPending && call.bound == null) {
            pending.decrementAndGet();
            throw new HyperDelayException(options.maxPending + " requests already wait for replies: wait for some of them, or raise"
                + " ClientOptions.maxPending");
        }
    }

    void add(Call<?> call) {
        byTag.put(tag(call), call);
    }

    /** Releases the place of a call that was prepared and not added. */
    void release() {
        pending.decrementAndGet();
    }

    Collection<Call<?>> all() {
        return byTag.values();
    }

    /** Fails the calls that end here, and removes the abandoned ones. */
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

    /** Ends the call that has this tag. */
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
        } // Otherwise the server shuts down, and the next session sends the call again.
    }

    /** Fails the call whose line the server could not read. Returns false if there is none. */
    boolean failUnread(Session session, ServerException why) {
        Call<?> unread = null;
        if (why.line() != 0) {
            unread = byTag.values().stream().filter(call -> call.sentAs(session, why.line())).findAny().orElse(null);
        } else if (why.code().equals("line_too_long")) {
            // A server that speaks protocol 1 sends no line number. The longest line was surely too
            // long.
            unread = byTag.values().stream().max(Comparator.comparingInt(call -> call.line.length)).orElse(null);
        }
        if (unread == null) {
            return false;
        }
        remove(unread);
        unread.fail(why);
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
