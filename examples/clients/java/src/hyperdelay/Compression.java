package hyperdelay;

import com.github.luben.zstd.ZstdCompressCtx;
import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4FrameInputStream;
import net.jpountz.lz4.LZ4FrameOutputStream;
import net.jpountz.lz4.LZ4FrameOutputStream.BLOCKSIZE;
import net.jpountz.lz4.LZ4FrameOutputStream.FLG.Bits;
import net.jpountz.xxhash.XXHashFactory;

/** Compresses and decompresses payloads. */
final class Compression {
    static final String NONE = "none";
    static final String LZ4 = "lz4";
    static final String ZSTD = "zstd";

    /** Payloads of fewer bytes are not compressed. */
    private static final int SMALL = 256;
    /** Checks every access, as the payloads of others are decompressed. */
    private static final LZ4Factory LZ4_LIBRARY = LZ4Factory.safeInstance();
    private static final XXHashFactory HASHES = XXHashFactory.safeInstance();
    private static final int LEVEL = 3;
    /** The logarithm of the window that every decoder of Zstandard should have, by RFC 8878. */
    private static final int WINDOW = 23;

    /** What to send of a payload. */
    record Sent(byte[] payload, String compression) {}

    private Compression() {}

    /** Returns whether this client decompresses payloads of this compression. */
    static boolean isKnown(String name) {
        return name.equals(LZ4) || name.equals(ZSTD);
    }

    /** Compresses a payload, unless it is small or would not become smaller. */
    static Sent compress(byte[] payload, String name) {
        if (!isKnown(name) || payload.length < SMALL) {
            return new Sent(payload, NONE);
        }
        byte[] compressed = name.equals(LZ4) ? lz4(payload) : zstd(payload);
        return compressed.length < payload.length ? new Sent(compressed, name) : new Sent(payload, NONE);
    }

    private static byte[] zstd(byte[] payload) {
        try (ZstdCompressCtx context = new ZstdCompressCtx()) {
            return context.setLevel(LEVEL).setChecksum(true).compress(payload);
        }
    }

    private static byte[] lz4(byte[] payload) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(payload.length);
        try (LZ4FrameOutputStream out = new LZ4FrameOutputStream(bytes, BLOCKSIZE.SIZE_64KB, payload.length,
                LZ4_LIBRARY.fastCompressor(), HASHES.hash32(), Bits.BLOCK_INDEPENDENCE, Bits.CONTENT_CHECKSUM,
                Bits.CONTENT_SIZE)) {
            out.write(payload);
        } catch (IOException e) {
            throw new IllegalStateException("it is written to memory", e);
        }
        return bytes.toByteArray();
    }

    /**
     * Decompresses a payload of a known compression.
     *
     * @throws IOException if it is no such payload, or is longer than {@code max} when decompressed
     */
    static byte[] decompress(byte[] payload, String name, int max) throws IOException {
        byte[] content;
        ByteArrayInputStream bytes = new ByteArrayInputStream(payload);
        try (InputStream in = name.equals(LZ4) ? lz4(bytes) : zstd(bytes, max)) {
            content = in.readNBytes(max);
            if (in.read() >= 0) {
                throw new IOException("it is longer than " + max + " bytes when decompressed: raise"
                    + " ClientOptions.maxPayloadBytes");
            }
        } catch (IOException | RuntimeException e) {
            throw new IOException("the payload is not one whole " + name + " frame: " + e.getMessage(), e);
        }
        if (payload.length == 0 || bytes.available() > 0) {
            throw new IOException("the payload is not one whole " + name + " frame: it is empty, or bytes follow it");
        }
        return content;
    }

    private static InputStream lz4(InputStream bytes) throws IOException {
        return new LZ4FrameInputStream(bytes, LZ4_LIBRARY.safeDecompressor(), HASHES.hash32(), true);
    }

    private static InputStream zstd(InputStream bytes, int max) throws IOException {
        // A frame whose content is in one segment has a window of that length.
        int longest = 32 - Integer.numberOfLeadingZeros(max);
        return new ZstdInputStreamNoFinalizer(bytes).setLongMax(Math.min(30, Math.max(WINDOW, longest)));
    }
}
