// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.util.function.BinaryOperator;

/**
 * Sorted runs apart from merging: formed once, merged as often as one likes, also in parts and several at a time; then
 * cleared, and formed anew.  Push, append or feed, then finish, then merge.
 */
public final class Runs<T> extends Input<T> {
	private final Context ctx;

	/** Make an object without runs, with the fields of em_runs_opts, or null. */
	public Runs(Order<T> order, Options opts) { this(order, null, opts); }

	/** Equal records become one, what a function makes of two at a time, whichever come first. */
	public Runs(Order<T> order, BinaryOperator<T> combine, Options opts) {
		super(order.records(), Raw.emb_runs_open(order.ctx, order, opts, order.type.adding(combine)));
		ctx = order.ctx;
	}

	@Override
	Object add(Object records) {
		return Raw.em_runs_push(this, records);
	}

	/** Add records of a sorted sequence, side by side, which goes on with the next call up to {@link #end}. */
	public void append(byte[] records) { Raw.em_runs_append(this, records); }

	/** The sorted sequence is over. */
	public void end() { Raw.em_runs_end(this); }

	private static long sorted(boolean sorted) { return sorted ? RawConstants.EM_RUNS_SORTED : 0; }

	/** Add all records of a stream, which stays the caller's, at its end; sorted: it is. */
	public void feed(Stream<T> stream, boolean sorted) { Raw.emb_runs_feed(this, stream, sorted(sorted)); }

	/** A sink that pushes, or, sorted, appends; when it is finished, so are these, or, with more, a sequence. */
	public Sink<T> sink(boolean sorted, boolean more) {
		long flags = sorted(sorted) | (more ? RawConstants.EM_RUNS_MORE : 0);
		return new Sink<>(type, Raw.em_sink_runs(this, flags));
	}

	/** There are no more records. */
	public void finish() { Raw.em_runs_finish(this); }

	/** Forget all records, and begin anew, also after a failure. */
	public void clear() { Raw.em_runs_clear(this); }

	/** All records, sorted.  The runs stay. */
	public Stream<T> merge() { return merge(null, null, 0, Stream.UNKNOWN, 0); }

	/** Those that are at least from and less than to, or null: without the first, so many, or
	 *  {@link Stream#UNKNOWN}: all.  memory: bytes for it, or 0. */
	public Stream<T> merge(T from, T to, long skip, long take, long memory) {
		return new Stream<>(
			ctx, type, Raw.emb_runs_merge(this, type.bound(from), type.bound(to), skip, take, memory));
	}

	/** What is told of them, as JSON. */
	public String info() { return Native.string(Raw.em_runs_info_get(this)); }
}
