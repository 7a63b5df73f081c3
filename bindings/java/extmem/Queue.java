// SPDX-License-Identifier: BSL-1.0
package extmem;

/** Gives what was pushed first. */
public final class Queue<T> extends Ends<T> {
	private static final Functions F = new Functions(Raw::em_queue_open, Raw::em_queue_size,
		Raw::em_queue_stats_get, Raw::em_queue_push, Raw::em_queue_push_many, Raw::em_queue_pop,
		Raw::em_queue_pop_many, Raw::em_queue_front, Raw::em_queue_clear);

	/** Make one with the fields of em_container_opts, or null. */
	public Queue(Context ctx, Type<T> type, Options opts) { super(F, ctx, type, opts); }

	/** Take out all records. */
	public Stream<T> stream() { return streamOf(Raw.em_stream_queue(this)); }

	public Sink<T> sink() { return sinkOf(Raw.em_sink_queue(this)); }
}
