package hyperdelay;

/** An error between this client and its server. */
public class HyperDelayException extends RuntimeException {
    private static final long serialVersionUID = 1;

    HyperDelayException(String message) {
        super(message);
    }

    HyperDelayException(String message, Throwable cause) {
        super(message, cause);
    }
}
