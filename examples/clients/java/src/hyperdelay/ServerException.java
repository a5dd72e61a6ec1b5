package hyperdelay;

import com.fasterxml.jackson.databind.JsonNode;

/** An error reply of the server. The request has changed nothing. */
public final class ServerException extends HyperDelayException {
    private static final long serialVersionUID = 1;

    private final String code;
    private final long line;

    ServerException(JsonNode line) {
        super("the server answered " + Wire.text(line, "code") + ": " + Wire.text(line, "message"));
        code = Wire.text(line, "code");
        this.line = line.path("line").asLong();
    }

    /**
     * One of the codes in PROTOCOL.md, for example {@code duplicate_id}. Servers may add new ones.
     */
    public String code() {
        return code;
    }

    /**
     * The number of the request's line on its connection if the server could not read the line;
     * otherwise 0.
     */
    public long line() {
        return line;
    }
}
