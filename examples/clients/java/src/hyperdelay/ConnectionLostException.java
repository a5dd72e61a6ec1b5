package hyperdelay;

/**
 * The connection ended before the reply arrived. Only the acknowledgement of a delivery fails in
 * this way, as it belongs to one connection. The server delivers the task again.
 */
public final class ConnectionLostException extends HyperDelayException {
    private static final long serialVersionUID = 1;

    ConnectionLostException() {
        super("the connection was lost before the reply: the task will be delivered again");
    }
}
