// SPDX-License-Identifier: BSL-1.0
package extmem;

/** A priority queue for keys that are numbers and never go back. */
public final class RadixHeap<T> extends Ends<T> {
	private static final Functions F = new Functions(Raw::em_radix_heap_open, Raw::em_radix_heap_size,
		Raw::em_radix_heap_stats_get, Raw::em_radix_heap_push, Raw::em_radix_heap_push_many,
		Raw::em_radix_heap_pop, Raw::em_radix_heap_pop_many, Raw::em_radix_heap_top, Raw::em_radix_heap_clear);

	/** Make one whose key is a field, or the record ("."), with the fields of em_radix_heap_opts, or null. */
	public RadixHeap(Context ctx, Type<T> type, String key, Options opts) {
		super(F, ctx, type, Options.copy(opts).set("key", type.order(key)));
	}

	/** What a heap with these options would be, as JSON. */
	public static String plan(Context ctx, Type<?> type, String key, Options opts) {
		Options all = Options.copy(opts).set("key", type.order(key)).sized(type);
		return Native.string(Raw.em_radix_heap_plan(ctx, all));
	}

	/** The last key that was popped, as an unsigned number in the order of keys; none may be pushed below it. */
	public long last() { return Raw.em_radix_heap_last(this); }
}
