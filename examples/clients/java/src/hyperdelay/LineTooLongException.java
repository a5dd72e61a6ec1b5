package hyperdelay;

/** A request that does not fit into a line. It was not sent. */
public final class LineTooLongException extends HyperDelayException {
    private static final long serialVersionUID = 1;

    LineTooLongException(int bytes, int max) {
        super("the request is a line of " + bytes + " bytes, and at most " + max + " are allowed: make the payload smaller, or"
            + " raise max_line_bytes of the server and ClientOptions.maxLineBytes");
    }
}
