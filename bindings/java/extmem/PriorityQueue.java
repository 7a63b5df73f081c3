// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.util.Arrays;
import java.util.List;

/** Gives the first record of an order. */
public final class PriorityQueue<T> extends Ends<T> {
	private static final Functions F = new Functions(Raw::em_pq_open, Raw::em_pq_size, Raw::em_pq_stats_get,
		Raw::em_pq_push, Raw::em_pq_push_many, Raw::em_pq_pop, Raw::em_pq_pop_many, Raw::em_pq_top,
		Raw::em_pq_clear);

	private final Order<T> order;

	/** Make one with the fields of em_pq_opts, or null. */
	public PriorityQueue(Order<T> order, Options opts) {
		super(F, order.ctx, order.records(), Options.copy(opts).set("order", order));
		this.order = order;
	}

	/** What a queue with these options would be, as JSON. */
	public static String plan(Order<?> order, Options opts) {
		return Native.string(Raw.em_pq_plan(order.ctx, Options.copy(opts).set("order", order)));
	}

	/** By all fields. */
	public PriorityQueue(Context ctx, Type<T> type, Options opts) {
		this(Order.of(ctx, type), opts);
		own = order;
	}

	/** Take out all records, in order. */
	public Stream<T> stream() { return streamOf(Raw.em_stream_pq(this)); }

	public Sink<T> sink() { return sinkOf(Raw.em_sink_pq(this)); }

	/** Push a record, and then take out the first one. */
	public T pushPop(T record) { return one(Raw.em_pq_pushpop(this, type.encode(record))); }

	/** Take out the first record, and then push one; null, and nothing is pushed: there was none. */
	public T replace(T record) { return one(Raw.em_pq_replace(this, type.encode(record))); }

	/** Take out at most n records that come before a bound. */
	public List<T> popUntil(T bound, boolean inclusive, int n) {
		byte[] room = type.room(Math.min(n, size()));
		long flags = inclusive ? RawConstants.EM_PQ_INCLUSIVE : 0;
		long got = Native.number(Raw.em_pq_pop_until(this, type.encode(bound), flags, room), 0);
		return type.decodeAll(Arrays.copyOf(room, (int)got * type.bytes));
	}
}
