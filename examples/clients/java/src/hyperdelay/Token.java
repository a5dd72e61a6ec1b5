package hyperdelay;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Reads the token of a client. It is read for each connection, so that it can be renewed. */
final class Token {
    static final String FILE = "HYPER_DELAY_TOKEN_FILE";
    static final String VALUE = "HYPER_DELAY_TOKEN";

    private Token() {}

    /**
     * Returns the token in the file, or in the environment, or in the file that the environment
     * names, as the other clients do; null if there is none.
     */
    static String read(Path file, Map<String, String> environment) {
        if (file != null) {
            return in(file, "tokenFile");
        }
        String value = environment.getOrDefault(VALUE, "");
        if (!value.isEmpty()) {
            return nonEmpty(value, VALUE);
        }
        String named = environment.getOrDefault(FILE, "");
        return named.isEmpty() ? null : in(Path.of(named), FILE);
    }

    /** Reads the token in a file, which {@code from} names. */
    private static String in(Path file, String from) {
        try {
            return nonEmpty(Files.readString(file), from + " is '" + file + "', which");
        } catch (IOException e) {
            throw new HyperDelayException(from + " is '" + file + "', which cannot be read: " + e, e);
        }
    }

    /** Throws if a token would be readable on its way. */
    static void requireSecret(SocketAddress remote, boolean encrypted) {
        boolean isNear = remote instanceof InetSocketAddress address && address.getAddress().isLoopbackAddress();
        if (!encrypted && !isNear) {
            throw new HyperDelayException("a token is not sent without TLS to another machine: set ClientOptions.tls, or"
                + " configure no token");
        }
    }

    private static String nonEmpty(String text, String from) {
        String token = text.strip();
        if (token.isEmpty()) {
            throw new HyperDelayException(from + " has no token: write one there, or unset it");
        }
        return token;
    }
}
