package hyperdelay;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Encodes and decodes lines. */
final class Wire {
    private static final ObjectMapper MAPPER = new ObjectMapper()
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);

    private Wire() {}

    static ObjectNode request(String kind) {
        return MAPPER.createObjectNode().put("kind", kind);
    }

    /** Returns the encoded request with its end. */
    static byte[] line(ObjectNode request, int max) {
        requireUnicode(request);
        try {
            byte[] line = MAPPER.writeValueAsBytes(request);
            if (line.length > max) {
                throw new LineTooLongException(line.length, max);
            }
            line = Arrays.copyOf(line, line.length + 1);
            line[line.length - 1] = '\n';
            return line;
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("the request cannot be written as JSON: " + e.getOriginalMessage(), e);
        }
    }

    /** Returns the JSON object of a line without its end. */
    static JsonNode parse(byte[] line) throws IOException {
        JsonNode node = MAPPER.readTree(line);
        if (node == null || !node.isObject()) {
            throw new IOException("not a JSON object");
        }
        return node;
    }

    static Stats stats(JsonNode line) {
        try {
            return MAPPER.treeToValue(line, Stats.class);
        } catch (JsonProcessingException e) {
            throw new HyperDelayException("the reply to stats cannot be read", e);
        }
    }

    /** Returns the text of a field, or "" if it is absent or no string. */
    static String text(JsonNode line, String field) {
        return line.path(field).isTextual() ? line.path(field).textValue() : "";
    }

    static void requireRoute(String route) {
        if (route == null || route.isEmpty()) {
            throw new IllegalArgumentException("the route is empty: name one of 1 to 128 bytes");
        }
    }

    private static void requireUnicode(JsonNode object) {
        object.fields().forEachRemaining(field -> {
            requireUnicode("a name", field.getKey());
            requireUnicode(field.getKey(), field.getValue().asText());
            requireUnicode(field.getValue());
        });
    }

    private static void requireUnicode(String field, String text) {
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
            throw new IllegalArgumentException(field + " '" + text + "' has half of a surrogate pair: encode it");
        }
    }
}
