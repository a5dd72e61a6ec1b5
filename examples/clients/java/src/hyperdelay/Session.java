package hyperdelay;

import com.fasterxml.jackson.databind.JsonNode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.LineBasedFrameDecoder;
import io.netty.handler.codec.TooLongFrameException;
import io.netty.handler.flush.FlushConsolidationHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.handler.timeout.IdleStateEvent;
import io.netty.handler.timeout.IdleStateHandler;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** One connection. Its registrations and deliveries end with it. For the client's thread. */
final class Session extends SimpleChannelInboundHandler<ByteBuf> {
    /** The highest version of the protocol that this client speaks. */
    private static final byte[] HELLO = bytes("{\"kind\":\"hello\",\"protocol\":2}\n");
    private static final String AUTH = "auth";
    private static final byte[] PING = bytes("{\"kind\":\"ping\"}\n");

    /** Receives the events of a session after its greeting. */
    interface Owner {
        void take(Session session, JsonNode line);

        void ended(Session session, Throwable why);
    }

    /**
     * Completes when the server has answered the hello. The reply proves that the server accepts
     * the connection, which the kernel accepts in any case.
     */
    final CompletableFuture<Session> greeted = new CompletableFuture<>();
    private final ClientOptions options;
    private final String host;
    private final int port;
    private final Owner owner;
    private Channel channel;
    private Throwable why;
    private long lines;

    Session(ClientOptions options, String host, int port, Owner owner) {
        this.options = options;
        this.host = host;
        this.port = port;
        this.owner = owner;
    }

    /** Returns the handlers of the connection. Throws if the files of TLS cannot be used. */
    ChannelInitializer<Channel> initializer() {
        SslHandler tls = options.tls == null ? null : options.tls.handler(ByteBufAllocator.DEFAULT, host, port);
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                if (tls != null) {
                    channel.pipeline().addLast(tls);
                }
                channel.pipeline().addLast(
                    new FlushConsolidationHandler(256, true),
                    new IdleStateHandler(options.keepAlive.toMillis(), 0, 0, TimeUnit.MILLISECONDS),
                    new LineBasedFrameDecoder(options.maxLineBytes),
                    Session.this);
            }
        };
    }

    /** Sends a line and returns its number on the connection, from 1, as the server counts. */
    long send(byte[] line) {
        channel.writeAndFlush(Unpooled.wrappedBuffer(line));
        return ++lines;
    }

    /** Ends the session. The first reason is kept. */
    void end(Throwable why) {
        if (this.why == null) {
            this.why = why;
        }
        greeted.completeExceptionally(this.why);
        if (channel != null) {
            channel.close();
        }
    }

    boolean isOpen() {
        return why == null && channel != null && channel.isActive();
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
        channel = context.channel();
        if (why != null) {
            channel.close();
            return;
        }
        try {
            String token = Token.read(options.tokenFile, options.environment);
            if (token != null) {
                Token.requireSecret(channel.remoteAddress(), options.tls != null);
                send(Wire.line(Wire.request("auth").put("token", token).put("tag", AUTH), options.maxLineBytes));
            }
            send(HELLO);
        } catch (HyperDelayException e) {
            end(e);
        }
    }


    @Override
    protected void channelRead0(ChannelHandlerContext context, ByteBuf bytes) {
        if (!bytes.isReadable() || why != null) {
            return;
        }
        JsonNode line;
        try {
            line = Wire.parse(ByteBufUtil.getBytes(bytes));
        } catch (IOException e) {
            String start = bytes.toString(bytes.readerIndex(), Math.min(80, bytes.readableBytes()), StandardCharsets.UTF_8);
            if (greeted.isDone()) {
                HyperDelayClient.LOG.log(Level.WARNING, "ignored the line ''{0}'' from the server: {1}", start, e);
            } else {
                end(new HyperDelayException("answered '" + start + "', which is not hyper-delay: is the port right?"));
            }
            return;
        }
        if (greeted.isDone()) {
            owner.take(this, line);
        } else {
            greet(line);
        }
    }

    /**
     * Handles the reply to the hello. A server before protocol 2 answers {@code unknown_kind}; the
     * session then speaks protocol 1. Both versions differ only in the kind of the reply to
     * schedule, which is matched by its tag. The reply to a token comes before; a server that knows
     * no tokens answers {@code unknown_kind} there, too.
     */
    private void greet(JsonNode line) {
        String kind = Wire.text(line, "kind");
        if (kind.equals("error") && !Wire.text(line, "code").equals("unknown_kind")) {
            end(new ServerException(line));
        } else if (Wire.text(line, "tag").equals(AUTH)) {
            return;
        } else if (kind.equals("error") || kind.equals("hello")) {
            greeted.complete(this);
        }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        if (event instanceof SslHandshakeCompletionEvent handshake && !handshake.isSuccess()) {
            end(new HyperDelayException("no TLS: " + handshake.cause().getMessage(), handshake.cause()));
        } else if (event instanceof IdleStateEvent idle) {
            if (idle.isFirst()) {
                send(PING);
            } else {
                end(new HyperDelayException("the server was silent for " + options.keepAlive.multipliedBy(2)));
            }
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        if (cause instanceof TooLongFrameException) {
            HyperDelayClient.LOG.log(Level.WARNING, "skipped a line of more than {0} bytes from the server: set"
                + " ClientOptions.maxLineBytes to its max_line_bytes", options.maxLineBytes);
        } else {
            end(cause);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        boolean known = greeted.isDone() && !greeted.isCompletedExceptionally();
        end(new HyperDelayException(known
            ? "the server closed the connection"
            : "the server closed the connection at once: is this host in its allowed_hosts?"));
        if (known) {
            owner.ended(this, why);
        }
    }

    private static byte[] bytes(String line) {
        return line.getBytes(StandardCharsets.UTF_8);
    }
}
