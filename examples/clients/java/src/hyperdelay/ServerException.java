package hyperdelay;

import com.fasterxml.jackson.databind.JsonNode;

/** An error that the server answered. The request has changed nothing. */
public final class ServerException extends HyperDelayException {
    private static final long serialVersionUID = 1;

    private final String code;

    ServerException(JsonNode line) {
        super("the server answered " + Wire.text(line, "code") + ": " + Wire.text(line, "message"));
        code = Wire.text(line, "code");
    }

    /** One of the codes in PROTOCOL.md, {@code duplicate_id} for one. New ones may be added. */
    public String code() {
        return code;
    }
}
