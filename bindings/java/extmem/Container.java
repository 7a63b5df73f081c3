// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** What all containers have. */
public abstract class Container<T> extends Handle {
	final Context ctx;
	final Type<T> type;
	private final ToLongFunction<Handle> size;
	private final Function<Handle, Object> stats;

	Container(Context ctx, Type<T> type, BiFunction<Handle, Options, Object> open, ToLongFunction<Handle> size,
		Function<Handle, Object> stats, Options opts) {
		super((Long)open.apply(ctx, Options.copy(opts).sized(type)));
		this.ctx = ctx;
		this.type = type;
		this.size = size;
		this.stats = stats;
	}

	/** How many records there are. */
	public final long size() { return size.applyAsLong(this); }

	public final boolean isEmpty() { return size() == 0; }

	/** Statistics, as JSON. */
	public final String stats() { return Native.string(stats.apply(this)); }

	/** A record that a call gave back, or null. */
	final T one(Object result) { return type.decode(Native.bytes(result)); }

	final Stream<T> streamOf(long made) { return new Stream<>(ctx, type, made); }

	final Sink<T> sinkOf(long made) { return new Sink<>(type, made); }
}
