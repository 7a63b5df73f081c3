// SPDX-License-Identifier: BSL-1.0
package extmem;

/** Gives what was pushed last. */
public final class Stack<T> extends Ends<T> {
	private static final Functions F = new Functions(Raw::em_stack_open, Raw::em_stack_size,
		Raw::em_stack_stats_get, Raw::em_stack_push, Raw::em_stack_push_many, Raw::em_stack_pop,
		Raw::em_stack_pop_many, Raw::em_stack_peek, Raw::em_stack_clear);

	/** Make one with the fields of em_container_opts, or null. */
	public Stack(Context ctx, Type<T> type, Options opts) { super(F, ctx, type, opts); }

	/** Take out all records. */
	public Stream<T> stream() { return streamOf(Raw.em_stream_stack(this)); }

	public Sink<T> sink() { return sinkOf(Raw.em_sink_stack(this)); }
}
