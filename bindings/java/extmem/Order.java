// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.function.BiConsumer;

/** How records are sorted, and files of them.  Any number of threads may use it. */
public final class Order<T> extends Handle {
	final Context ctx;
	final Type<T> type;

	/** Computes a key, an unsigned number, for each of many records, which stand side by side. */
	@FunctionalInterface
	public interface Keys {
		void compute(ByteBuffer records, long[] keys);
	}

	private Order(Context ctx, Type<T> type, long made) {
		super(made);
		this.ctx = ctx;
		this.type = type;
	}

	/** By fields: "field,-other" (- descends; a number is called "."), or "": all of them; of lines as
	 *  {@link #lines}. */
	public static <T> Order<T> of(Context ctx, Type<T> type, String key) {
		long made = type.bytes == 0 ? Raw.<Long>emb_order_options(ctx, key)
			: Raw.<Long>em_order_parse(ctx, type.bytes, type.order(key));
		return new Order<>(ctx, type, made);
	}

	/** By all fields. */
	public static <T> Order<T> of(Context ctx, Type<T> type) { return of(ctx, type, ""); }

	private static Options function(Type<?> type, Object function) {
		return Options.of("record_size", type.bytes).set("fn", java.util.Objects.requireNonNull(function));
	}

	/** By keys that a function computes of many records at a time. */
	public static <T> Order<T> ofKeys(Context ctx, Type<T> type, Keys keys) {
		return new Order<>(ctx, type, Raw.em_order_key_fn(ctx, function(type, keys)));
	}

	/** By a comparison, which is slow. */
	public static <T> Order<T> comparing(Context ctx, Type<T> type, Comparator<? super T> cmp) {
		java.util.Objects.requireNonNull(cmp);
		Native.Compare function = (a, b) -> cmp.compare(type.decode(a), type.decode(b));
		return new Order<>(ctx, type, Raw.em_order_cmp(ctx, function(type, function)));
	}

	/** Lines by options of the command: "-t, -k3,3nr". */
	public static Order<String> lines(Context ctx, String options) { return of(ctx, Type.LINES, options); }

	/** What files call it, or null, if it is a function. */
	public String name() { return (String)Raw.em_order_name(this); }

	/** The type of its records, which all have one size. */
	Type<T> records() {
		if (type.bytes == 0)
			throw ExtmemException.usage("the order is of lines, which are not for this");
		return type;
	}

	/** How n records would be sorted, with the fields of em_sort_opts: as JSON. */
	public String plan(long n, Options opts) { return Native.string(Raw.em_sort_plan(ctx, this, n, opts)); }

	/* Files.  What is told is statistics, as JSON. */

	/** Sort files into one, with the fields of em_sort_opts. */
	public String sortFiles(List<Path> inputs, Path output, Options opts) {
		return Native.string(Raw.em_sort_files(ctx, this, inputs, output, opts));
	}

	/** Merge files that are sorted. */
	public String mergeFiles(List<Path> inputs, Path output, Options opts) {
		return Native.string(Raw.em_merge_files(ctx, this, inputs, output, opts));
	}

	/** Write the first of equal records, with the fields of em_unique_opts. */
	public String uniqueFiles(List<Path> inputs, Path output, Options opts) {
		return Native.string(Raw.em_unique_files(ctx, this, inputs, output, opts));
	}

	/** Write the records of ranks from, ..., from + k - 1. */
	public String topFiles(List<Path> inputs, long from, long k, Path output, Options opts) {
		return Native.string(Raw.em_top_files(ctx, this, inputs, from, k, output, opts));
	}

	/** Look whether a file is sorted, with the fields of em_check_opts; records that are out of place are told. */
	public String checkFile(Path path, Options opts, BiConsumer<Long, byte[]> disorder) {
		return Native.string(Raw.em_check_file(ctx, this, path, opts, disorder::accept));
	}
}
