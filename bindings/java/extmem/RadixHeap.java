// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.util.Map;

/** A priority queue for keys that are numbers and never go back. */
public final class RadixHeap<T> extends Ends<T> {
	private static final Functions F = new Functions(RawJNI::em_radix_heap_size, RawJNI::em_radix_heap_stats_get,
		RawJNI::em_radix_heap_push, RawJNI::em_radix_heap_push_many, RawJNI::em_radix_heap_pop,
		RawJNI::em_radix_heap_pop_many, RawJNI::em_radix_heap_top, RawJNI::em_radix_heap_clear);
	private static final Map<String, Integer> KINDS = Map.of("u8", RawConstants.EM_KEY_U8, "i8",
		RawConstants.EM_KEY_I8, "u16", RawConstants.EM_KEY_U16, "i16", RawConstants.EM_KEY_I16, "u32",
		RawConstants.EM_KEY_U32, "i32", RawConstants.EM_KEY_I32, "u64", RawConstants.EM_KEY_U64, "i64",
		RawConstants.EM_KEY_I64, "f32", RawConstants.EM_KEY_F32, "f64", RawConstants.EM_KEY_F64);

	/** Make one whose key is a field, or the record ("."), with the fields of em_radix_heap_opts, or null. */
	public RadixHeap(Context ctx, Type<T> type, String key, Options opts) {
		super(F, ctx, open(RawJNI::em_radix_heap_open, ctx, type, keyed(type.order(key), opts)), ctx, type);
	}

	/** What a heap with these options would be, as JSON. */
	public static String plan(Context ctx, Type<?> type, String key, Options opts) {
		Options all = keyed(type.order(key), opts).set("record_bytes", type.bytes);
		return Native.json(RawJNI.em_radix_heap_plan(ctx.id, all.encode()), ctx, opts);
	}

	/** The last key that was popped, as an unsigned number in the order of keys; none may be pushed below it. */
	public long last() { return number(RawJNI.em_radix_heap_last(id)); }

	private static Options keyed(String name, Options opts) {
		String[] parts = name.split("@");
		Integer kind = KINDS.get(parts[0].replaceAll("(le|be)$", ""));
		if (kind == null || parts.length != 2 || !parts[1].matches("[0-9]+"))
			throw ExtmemException.usage("the key of a radix heap is a number, and not " + name);
		Options all = Options.copy(opts).set("key_type", kind).set("key_offset", parts[1]);
		return parts[0].endsWith("be") ? all.set("key_flags", RawConstants.EM_KEY_BIG_ENDIAN) : all;
	}
}
