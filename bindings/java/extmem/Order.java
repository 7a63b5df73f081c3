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
	private final boolean unique;

	/** Computes a key, an unsigned number, for each of many records, which stand side by side. */
	@FunctionalInterface
	public interface Keys {
		void compute(ByteBuffer records, long[] keys);
	}

	private Order(Context ctx, Type<T> type, boolean unique, Object opened) {
		super(Native.number(opened, ctx));
		this.ctx = ctx;
		this.type = type;
		this.unique = unique;
	}

	/** By fields: "field,-other" (- descends; a number is called "."), or "": all of them. */
	public static <T> Order<T> of(Context ctx, Type<T> type, String key) {
		return new Order<>(
			ctx, type, false, RawJNI.em_order_parse(ctx.id, type.bytes, Native.text(type.order(key))));
	}

	/** By all fields. */
	public static <T> Order<T> of(Context ctx, Type<T> type) { return of(ctx, type, ""); }

	private static byte[] function(Type<?> type, Object function) {
		return Options.of("record_size", type.bytes).set("fn", Native.keep(function)).encode();
	}

	/** By keys that a function computes of many records at a time. */
	public static <T> Order<T> ofKeys(Context ctx, Type<T> type, Keys keys) {
		java.util.Objects.requireNonNull(keys);
		return new Order<>(ctx, type, false, RawJNI.em_order_key_fn(ctx.id, function(type, keys)));
	}

	/** By a comparison, which is slow. */
	public static <T> Order<T> comparing(Context ctx, Type<T> type, Comparator<? super T> cmp) {
		java.util.Objects.requireNonNull(cmp);
		Native.Compare function = (a, b) -> cmp.compare(type.decode(a), type.decode(b));
		return new Order<>(ctx, type, false, RawJNI.em_order_cmp(ctx.id, function(type, function)));
	}

	/** Lines by options of the command: "-t, -k3,3nr". */
	public static Order<String> lines(Context ctx, String options) {
		Object[] made = (Object[])Native.take(RawJNI.emb_text_order(ctx.id, Native.text(options)), ctx);
		return new Order<>(ctx, Type.LINES, (Long)made[1] != 0, made[0]);
	}

	/** What files call it, or null, if it is a function. */
	public String name() {
		byte[] name = (byte[])RawJNI.em_order_name(id);
		number(0);
		return Native.string(name);
	}

	/** The type of its records, which all have one size. */
	Type<T> records() {
		if (type.bytes == 0)
			throw ExtmemException.usage("the order is of lines, which are not for this");
		return type;
	}

	/** Options of a sort by this order. */
	byte[] sortOptions(Options opts) {
		Options all = Options.copy(opts);
		if (unique)
			all.flag(RawConstants.EM_SORT_UNIQUE);
		return all.encode();
	}

	/** How n records would be sorted, with the fields of em_sort_opts: as JSON. */
	public String plan(long n, Options opts) {
		return Native.json(RawJNI.em_sort_plan(ctx.id, id, n, sortOptions(opts)), this, opts);
	}

	/* Files.  What is told is statistics, as JSON. */

	/** Sort files into one, with the fields of em_sort_opts. */
	public String sortFiles(List<Path> inputs, Path output, Options opts) {
		return Native.json(
			RawJNI.em_sort_files(ctx.id, id, Native.texts(inputs), Native.text(output), sortOptions(opts)),
			this, opts);
	}

	/** Merge files that are sorted. */
	public String mergeFiles(List<Path> inputs, Path output, Options opts) {
		return Native.json(
			RawJNI.em_merge_files(ctx.id, id, Native.texts(inputs), Native.text(output), sortOptions(opts)),
			this, opts);
	}

	/** Write the first of equal records, with the fields of em_unique_opts. */
	public String uniqueFiles(List<Path> inputs, Path output, Options opts) {
		return Native.json(RawJNI.em_unique_files(
					   ctx.id, id, Native.texts(inputs), Native.text(output), Options.encode(opts)),
			this, opts);
	}

	/** Write the records of ranks from, ..., from + k - 1. */
	public String topFiles(List<Path> inputs, long from, long k, Path output, Options opts) {
		return Native.json(RawJNI.em_top_files(ctx.id, id, Native.texts(inputs), from, k, Native.text(output),
					   sortOptions(opts)),
			this, opts);
	}

	/** Look whether a file is sorted, with the fields of em_check_opts; records that are out of place are told. */
	public String checkFile(Path path, Options opts, BiConsumer<Long, byte[]> disorder) {
		byte[] encoded = Options.encode(opts);
		byte[] text = Native.text(path);
		long function = Native.keep((Native.Visit)disorder::accept);
		return Native.json(RawJNI.em_check_file(ctx.id, id, text, encoded, function), this, opts);
	}
}
