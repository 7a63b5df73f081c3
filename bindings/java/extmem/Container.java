// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.util.function.BiFunction;
import java.util.function.LongFunction;
import java.util.function.LongUnaryOperator;

/** What all containers have. */
public abstract class Container<T> extends Handle {
	final Context ctx;
	final Type<T> type;
	private final LongUnaryOperator size;
	private final LongFunction<Object> stats;

	Container(Context ctx, Object opened, Object used, Type<T> type, LongUnaryOperator size,
		LongFunction<Object> stats) {
		super(Native.number(opened, used));
		this.ctx = ctx;
		this.type = type;
		this.size = size;
		this.stats = stats;
	}

	/** Open one of records that have no order. */
	static Object open(BiFunction<Long, byte[], Object> how, Context ctx, Type<?> type, Options opts) {
		return how.apply(ctx.id, Options.copy(opts).set("record_bytes", type.bytes).encode());
	}

	/** How many records there are. */
	public final long size() { return number(size.applyAsLong(id)); }

	public final boolean isEmpty() { return size() == 0; }

	/** Statistics, as JSON. */
	public final String stats() { return Native.json(stats.apply(id), this, null); }

	/** A record that a call gave back, or null. */
	final T one(Object result) { return type.decode(Native.bytes(result, this)); }

	final Stream<T> stream(Object made) { return new Stream<>(ctx, type, made, this); }

	final Sink<T> sink(Object made) { return new Sink<>(made, this, type); }

	final void done(Object result) { Native.take(result, this); }
}
