// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.io.ByteArrayOutputStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Fields of the structs in {@code <extmem/*.h>}, by name: numbers, texts (also sizes, "64M"), lists, more options. */
public final class Options {
	private final Map<String, Object> all = new LinkedHashMap<>();

	/** Told of progress several times a second: true stops the operation. */
	@FunctionalInterface
	public interface Progress {
		boolean stop(String phase, long done, long total);
	}

	/** Told lines of the library; what it throws is lost. */
	@FunctionalInterface
	public interface Log {
		void tell(int level, String line);
	}

	/** Options with one field. */
	public static Options of(String name, Object value) { return new Options().set(name, value); }

	/** Set a field. */
	public Options set(String name, Object value) {
		all.put(name, value);
		return this;
	}

	/** Set the function of progress. */
	public Options progress(Progress function) { return set("progress", function); }

	/** Set the function of a context that is told lines. */
	public Options log(Log function) { return set("log", function); }

	static Options copy(Options opts) {
		Options copy = new Options();
		if (opts != null)
			copy.all.putAll(opts.all);
		return copy;
	}

	/** With the size of records, unless an order says it. */
	Options sized(Type<?> type) { return all.containsKey("order") ? this : set("record_bytes", type.bytes); }

	private static void put(ByteArrayOutputStream to, String name, Object value) {
		to.writeBytes(Native.text(name));
		to.writeBytes(Native.text(value));
	}

	private static void add(ByteArrayOutputStream to, Map<String, Object> functions, String name, Object value) {
		if (value instanceof Options)
			((Options)value).all.forEach((field, one) ->
				add(to, functions, name.isEmpty() ? field : name + "." + field, one));
		else if (value instanceof List)
			for (int i = 0; i < ((List<?>)value).size(); i++) {
				Object one = ((List<?>)value).get(i);
				add(to, functions, one instanceof Options ? name + "." + i : name, one);
			}
		else if (value instanceof Progress || value instanceof Log || value instanceof Order.Keys
			|| value instanceof Native.Compare)
			functions.put(name, value);
		else if (value instanceof Order)
			put(to, name, ((Order<?>)value).id);
		else if (value instanceof Boolean)
			put(to, name, (Boolean)value ? 1 : 0);
		else if (value instanceof Number || value instanceof CharSequence
				|| value instanceof java.nio.file.Path)
			put(to, name, value);
		else
			throw ExtmemException.usage("the option " + name + " cannot be " + value);
	}

	/** Names and values, each with a zero behind it.  Functions last, as they are kept from then on. */
	static byte[] encode(Options opts) {
		ByteArrayOutputStream to = new ByteArrayOutputStream();
		Map<String, Object> functions = new LinkedHashMap<>();
		if (opts != null)
			add(to, functions, "", opts);
		functions.keySet().forEach(Native::text);
		functions.forEach((name, function) -> put(to, name, "#" + Native.keep(function)));
		return to.toByteArray();
	}
}
