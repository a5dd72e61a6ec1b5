package hyperdelay;

/**
 * The connection ended before the answer came. Only what belongs to one connection ends with it: the acknowledgement of a
 * delivery. The server delivers the task again.
 */
public final class ConnectionLostException extends HyperDelayException {
    private static final long serialVersionUID = 1;

    ConnectionLostException() {
        super("the connection was lost before the answer: the task will be delivered again");
    }
}
