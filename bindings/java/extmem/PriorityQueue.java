// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.util.Arrays;
import java.util.List;

/** Gives the first record of an order. */
public final class PriorityQueue<T> extends Ends<T> {
	private static final Functions F =
		new Functions(RawJNI::em_pq_size, RawJNI::em_pq_stats_get, RawJNI::em_pq_push, RawJNI::em_pq_push_many,
			RawJNI::em_pq_pop, RawJNI::em_pq_pop_many, RawJNI::em_pq_top, RawJNI::em_pq_clear);

	/** Make one with the fields of em_pq_opts, or null. */
	public PriorityQueue(Order<T> order, Options opts) {
		super(F, order.ctx,
			RawJNI.em_pq_open(order.ctx.id, Options.copy(opts).set("order", order).encode()), order,
			order.records());
	}

	/** What a queue with these options would be, as JSON. */
	public static String plan(Order<?> order, Options opts) {
		return Native.json(RawJNI.em_pq_plan(order.ctx.id, Options.copy(opts).set("order", order).encode()),
			order, opts);
	}

	/** By all fields. */
	public PriorityQueue(Context ctx, Type<T> type, Options opts) { this(Order.of(ctx, type), opts, true); }

	private PriorityQueue(Order<T> order, Options opts, boolean own) {
		this(order, opts);
		if (own)
			this.own = order;
	}

	/** Take out all records, in order. */
	public Stream<T> stream() { return stream(RawJNI.em_stream_pq(id)); }

	public Sink<T> sink() { return sink(RawJNI.em_sink_pq(id)); }

	/** Push a record, and then take out the first one. */
	public T pushPop(T record) { return one(RawJNI.em_pq_pushpop(id, type.encode(record))); }

	/** Take out the first record, and then push one; null, and nothing is pushed: there was none. */
	public T replace(T record) { return one(RawJNI.em_pq_replace(id, type.encode(record))); }

	/** Take out at most n records that come before a bound. */
	public List<T> popUntil(T bound, boolean inclusive, int n) {
		byte[] room = new byte[Math.multiplyExact((int)Math.min(n, size()), type.bytes)];
		long flags = inclusive ? RawConstants.EM_PQ_INCLUSIVE : 0;
		Object got = Native.take(RawJNI.em_pq_pop_until(id, type.encode(bound), flags, room), this);
		return got == Native.END ? List.of()
					 : type.decodeAll(Arrays.copyOf(room, (int)((Long)got * type.bytes)));
	}
}
