// SPDX-License-Identifier: BSL-1.0
package extmem;

/** Gives what was pushed last. */
public final class Stack<T> extends Ends<T> {
	private static final Functions F = new Functions(RawJNI::em_stack_size, RawJNI::em_stack_stats_get,
		RawJNI::em_stack_push, RawJNI::em_stack_push_many, RawJNI::em_stack_pop, RawJNI::em_stack_pop_many,
		RawJNI::em_stack_peek, RawJNI::em_stack_clear);

	/** Make one with the fields of em_container_opts, or null. */
	public Stack(Context ctx, Type<T> type, Options opts) {
		super(F, ctx, open(RawJNI::em_stack_open, ctx, type, opts), ctx, type);
	}

	/** Take out all records. */
	public Stream<T> stream() { return stream(RawJNI.em_stream_stack(id)); }

	public Sink<T> sink() { return sink(RawJNI.em_sink_stack(id)); }
}
