// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;

/** The way to the module: its library, what calls give back, and functions that it calls. */
final class Native {
	/** What calls give back where there is none. */
	static final Object END = new Object();
	private static final String[] PHASES = {"runs", "merge", "output"};
	private static final ConcurrentHashMap<Long, Object> FUNCTIONS = new ConcurrentHashMap<>();
	private static final AtomicLong LAST = new AtomicLong();

	private Native() {}

	/* The library: the file that the property names, or the one in the jar, of which nothing stays. */

	private static boolean loaded;

	static synchronized void load() {
		if (loaded)
			return;
		String file = System.getProperty("extmem.library");
		if (file != null)
			System.load(Path.of(file).toAbsolutePath().toString());
		else
			loadFromJar();
		loaded = true;
	}

	private static void loadFromJar() {
		String name = "native/" + System.getProperty("os.name") + "-" + System.getProperty("os.arch") + ".so";
		try (InputStream in = Native.class.getResourceAsStream(name)) {
			if (in == null)
				throw new UnsatisfiedLinkError(
					"this jar has no extmem/" + name + "; -Dextmem.library=FILE names a library");
			Path copy = Files.createTempFile("extmem", ".so");
			try {
				Files.copy(in, copy, StandardCopyOption.REPLACE_EXISTING);
				System.load(copy.toString());
			} finally {
				Files.deleteIfExists(copy);
			}
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}

	static { load(); }

	/* Results. */

	/** What a call gave back, if that is nothing to be thrown. */
	@SuppressWarnings("unchecked")
	static <R> R take(Object result) {
		if (result instanceof Throwable)
			throw thrown((Throwable)result);
		return (R)result;
	}

	/** Throws it, whatever it is. */
	@SuppressWarnings("unchecked")
	static <E extends Throwable> RuntimeException thrown(Throwable e) throws E {
		throw(E) e;
	}

	/** A number, or another one where there is none. */
	static long number(Object result, long none) { return result == END ? none : (Long)result; }

	/** Bytes, or null where there is none. */
	static byte[] bytes(Object result) { return result == END ? null : (byte[])result; }

	static String string(Object bytes) {
		return bytes == null ? null : new String((byte[])bytes, StandardCharsets.UTF_8);
	}

	/* Arguments. */

	/** A text with a zero behind it: UTF-8, and of a path the bytes that it is of, whatever the locale. */
	static byte[] text(Object text) {
		String s = text.toString();
		if (s.indexOf(0) >= 0)
			throw ExtmemException.usage("a text has a zero in it");
		if (text instanceof Path && s.chars().anyMatch(c -> c >= 128))
			return unescaped(((Path)text).toUri().getRawPath());
		return (s + '\0').getBytes(StandardCharsets.UTF_8);
	}

	private static byte[] unescaped(String uri) {
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		for (int i = 0; i < uri.length(); i++) {
			if (uri.charAt(i) == '%') {
				bytes.write(Integer.parseInt(uri.substring(i + 1, i + 3), 16));
				i += 2;
			} else {
				bytes.write(uri.charAt(i));
			}
		}
		bytes.write(0);
		return bytes.toByteArray();
	}

	static byte[] texts(Iterable<?> list) {
		ByteArrayOutputStream all = new ByteArrayOutputStream();
		for (Object one : list)
			all.writeBytes(text(one));
		return all.toByteArray();
	}

	static ByteBuffer wrap(byte[] bytes) { return ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()); }

	/** Numbers of objects. */
	static byte[] ids(Iterable<? extends Handle> all) {
		ByteArrayOutputStream ids = new ByteArrayOutputStream();
		for (Handle one : all)
			ids.writeBytes(wrap(new byte[8]).putLong(one.id()).array());
		return ids.toByteArray();
	}

	/** Hand over what a buffer has from its position to its limit, which becomes the position. */
	static void drain(ByteBuffer records, Consumer<Object> to) {
		byte[] copy = records.isDirect() ? null : new byte[records.remaining()];
		if (copy != null)
			records.duplicate().get(copy);
		to.accept(copy == null ? records.slice() : copy);
		records.position(records.limit());
	}

	/** Fill a buffer from its position on with records: how many, which is what the call gives back, or -1. */
	static int fill(ByteBuffer room, int bytes, Function<Object, Object> call) {
		if (room.isReadOnly())
			throw new java.nio.ReadOnlyBufferException();
		byte[] copy = room.isDirect() ? null : new byte[room.remaining()];
		int n = (int)number(call.apply(copy == null ? room.slice() : copy), -1);
		if (n > 0 && copy != null)
			room.put(copy, 0, n * bytes);
		else if (n > 0)
			room.position(room.position() + n * bytes);
		return n;
	}

	/* Functions of the caller's have numbers in the module, which says when it forgets one. */

	/** The number of a function; 0: there is none. */
	static long keep(Object function) {
		if (function == null)
			return 0;
		long id = LAST.incrementAndGet();
		FUNCTIONS.put(id, function);
		return id;
	}

	static int kept() { return FUNCTIONS.size(); }

	interface Compare { int compare(byte[] a, byte[] b); }
	interface Visit { void visit(long i, byte[] records); }
	interface Test { boolean test(byte[] record); }
	interface Ask { byte[] ask(byte[] a, byte[] b); }

	static Throwable error(int status, int errno, byte[] op, byte[] path, long offset, long bytes, long record,
		byte[] text, long done, boolean hasDone, byte[] name) {
		return ExtmemException.of(new ExtmemException.Detail(status, errno, string(op), string(path), offset,
			bytes, record, string(text), hasDone ? done : -1, string(name)));
	}

	/** A call found the memory of its context full. */
	static void collect() { Handle.collect(); }

	static void release(long id) { FUNCTIONS.remove(id); }

	static boolean progress(long id, int phase, long done, long total) {
		Object fn = FUNCTIONS.get(id);
		if (fn instanceof Stream.Progress)
			return ((Stream.Progress)fn).stop(phase, done, total);
		return ((Options.Progress)fn).stop(phase < PHASES.length ? PHASES[phase] : "" + phase, done, total);
	}

	static int compare(long id, byte[] a, byte[] b) { return ((Compare)FUNCTIONS.get(id)).compare(a, b); }

	static void keys(long id, byte[] records, long[] keys) {
		((Order.Keys)FUNCTIONS.get(id)).compute(wrap(records), keys);
	}

	static void visit(long id, long i, byte[] records) { ((Visit)FUNCTIONS.get(id)).visit(i, records); }

	static boolean test(long id, byte[] record) { return ((Test)FUNCTIONS.get(id)).test(record); }

	static byte[] ask(long id, byte[] a, byte[] b) { return ((Ask)FUNCTIONS.get(id)).ask(a, b); }

	static void disorder(long id, long number, byte[] record) { ((Visit)FUNCTIONS.get(id)).visit(number, record); }

	static void log(long id, int level, byte[] line) { ((Options.Log)FUNCTIONS.get(id)).tell(level, string(line)); }
}
