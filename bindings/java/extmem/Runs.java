// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.util.function.BinaryOperator;

/**
 * Sorted runs apart from merging: formed once, merged as often as one likes, also in parts and several at a time; then
 * cleared, and formed anew.  Push, append or feed, then finish, then merge.
 */
public final class Runs<T> extends Input<T> {
	private final Order<T> order;

	/** Make an object without runs, with the fields of em_runs_opts, or null. */
	public Runs(Order<T> order, Options opts) { this(order, null, opts); }

	/** Equal records become one, what a function makes of two at a time, whichever come first. */
	public Runs(Order<T> order, BinaryOperator<T> combine, Options opts) {
		super(open(order, combine, Options.encode(opts)), order, order.records());
		this.order = order;
	}

	private static <T> Object open(Order<T> order, BinaryOperator<T> combine, byte[] opts) {
		long fn = combine == null ? 0 : Native.keep(order.records().adding(combine));
		return RawJNI.emb_runs_open(order.ctx.id, order.id, opts, fn);
	}

	@Override
	Object add(Object records) {
		return RawJNI.em_runs_push(id, records);
	}

	/** Add records of a sorted sequence, side by side, which goes on with the next call up to {@link #end}. */
	public void append(byte[] records) { Native.take(RawJNI.em_runs_append(id, records), this); }

	/** The sorted sequence is over. */
	public void end() { Native.take(RawJNI.em_runs_end(id), this); }

	/** Add all records of a stream, which stays the caller's, at its end; sorted: it is. */
	public void feed(Stream<T> stream, boolean sorted) {
		long flags = sorted ? RawConstants.EM_RUNS_SORTED : 0;
		Native.take(RawJNI.emb_runs_feed(id, stream.id, flags), this, stream);
	}

	/** A sink that pushes, or, sorted, appends; when it is finished, so are these, or, with more, a sequence. */
	public Sink<T> sink(boolean sorted, boolean more) {
		long flags = (sorted ? RawConstants.EM_RUNS_SORTED : 0) | (more ? RawConstants.EM_RUNS_MORE : 0);
		return new Sink<>(RawJNI.em_sink_runs(id, flags), this, type);
	}

	/** There are no more records. */
	public void finish() { Native.take(RawJNI.em_runs_finish(id), this); }

	/** Forget all records, and begin anew, also after a failure. */
	public void clear() { Native.take(RawJNI.em_runs_clear(id), this); }

	/** All records, sorted.  The runs stay. */
	public Stream<T> merge() { return merge(null, null, 0, Stream.UNKNOWN, 0); }

	/** Those that are at least from and less than to, or null: without the first, so many, or
	 *  {@link Stream#UNKNOWN}: all.  memory: bytes for it, or 0. */
	public Stream<T> merge(T from, T to, long skip, long take, long memory) {
		byte[] low = from == null ? null : type.encode(from), high = to == null ? null : type.encode(to);
		return new Stream<>(order.ctx, type, RawJNI.emb_runs_merge(id, low, high, skip, take, memory), this);
	}

	/** What is told of them, as JSON. */
	public String info() { return Native.json(RawJNI.em_runs_info_get(id), this, order); }
}
