// SPDX-License-Identifier: BSL-1.0
package extmem;

/** Gives what was pushed first. */
public final class Queue<T> extends Ends<T> {
	private static final Functions F = new Functions(RawJNI::em_queue_size, RawJNI::em_queue_stats_get,
		RawJNI::em_queue_push, RawJNI::em_queue_push_many, RawJNI::em_queue_pop, RawJNI::em_queue_pop_many,
		RawJNI::em_queue_front, RawJNI::em_queue_clear);

	/** Make one with the fields of em_container_opts, or null. */
	public Queue(Context ctx, Type<T> type, Options opts) {
		super(F, ctx, open(RawJNI::em_queue_open, ctx, type, opts), ctx, type);
	}

	/** Take out all records. */
	public Stream<T> stream() { return stream(RawJNI.em_stream_queue(id)); }

	public Sink<T> sink() { return sink(RawJNI.em_sink_queue(id)); }
}
