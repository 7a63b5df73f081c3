// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.io.ByteArrayOutputStream;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.BinaryOperator;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;

/**
 * Records that are made when they are asked for, batch by batch, with nothing in between on a disk.  A stream that a
 * method makes another one of belongs to that, and is closed.  What functions throw comes out of the call that pulled.
 *
 * What it is on, a container, sorter or runs, may be closed before: that is done behind the stream.  Lines are
 * filtered, looked at, sorted, merged, reduced, joined, divided, concatenated, sliced, and mapped to records of one
 * size.
 */
public final class Stream<T> extends Handle implements Iterable<T> {
	/** How many records there are, if nobody knows. */
	public static final long UNKNOWN = -1;
	private static final int SOME = 1024;
	private final Context ctx;
	private final Type<T> type;

	/** Of two sorted streams: {@link #set}. */
	public enum Operation { UNION, INTERSECTION, DIFFERENCE, SYMMETRIC }

	/** What a join has: pairs with equal keys; also those of the left side, or both, without another one; or
	 *  records of the left side with, or without, another one. */
	public enum Join { INNER, LEFT, FULL, SEMI, ANTI }

	Stream(Context ctx, Type<T> type, long made) {
		super(made);
		this.ctx = ctx;
		this.type = type;
		long bytes = Raw.em_stream_record_bytes(this);
		if (bytes == type.bytes)
			return;
		close();
		throw ExtmemException.usage("records have " + bytes + " bytes, and not " + type.bytes);
	}

	/** Batches of records side by side, as a function gives them; null: there are no more. */
	public static <T> Stream<T> ofBatches(Context ctx, Type<T> type, Supplier<byte[]> more) {
		return new Stream<>(ctx, type, Raw.emb_stream_source(ctx, type.bytes, UNKNOWN, (a, b) -> more.get()));
	}

	/** The records of an iterator, which may make them of any number of others, such as those of streams. */
	public static <T> Stream<T> of(Context ctx, Type<T> type, Iterator<? extends T> all) {
		return ofBatches(ctx, type, () -> {
			ByteArrayOutputStream some = new ByteArrayOutputStream();
			for (int i = 0; i < SOME && all.hasNext(); i++)
				some.writeBytes(type.encode(all.next()));
			return some.size() == 0 ? null : some.toByteArray();
		});
	}

	/** The records of files, one after the other. */
	public static <T> Stream<T> ofFiles(Context ctx, Type<T> type, List<Path> paths) {
		return new Stream<>(ctx, type, Raw.em_stream_file(ctx, type.bytes, paths));
	}

	/** The lines of files, one after the other; or, with the fields of em_format, other records of any length. */
	public static Stream<String> ofLines(Context ctx, List<Path> paths, Options format) {
		return new Stream<>(ctx, Type.LINES, Raw.em_stream_lines(ctx, paths, format));
	}

	private <U> Stream<U> made(Type<U> to, long made) { return new Stream<>(ctx, to, made); }

	private List<Stream<?>> with(List<? extends Stream<?>> others) {
		List<Stream<?>> all = new ArrayList<>(others);
		all.add(0, this);
		return all;
	}

	private <U> Stream<U> ask(int what, Type<U> to, Native.Ask fn) {
		return made(to, Raw.emb_stream_node(this, what, to.bytes, fn));
	}

	/** A function makes of each batch another one, of as many records, which stand side by side. */
	public <U> Stream<U> mapMany(Type<U> to, Function<ByteBuffer, byte[]> fn) {
		return ask(RawConstants.EMB_MAP, to, (some, none) -> fn.apply(Native.wrap(some)));
	}

	/** What a function makes of each record. */
	public <U> Stream<U> map(Type<U> to, Function<? super T, ? extends U> fn) {
		return ask(RawConstants.EMB_MAP, to, (some, ends) -> {
			List<U> made = new ArrayList<>();
			for (T record : type.decodeAll(some, ends))
				made.add(fn.apply(record));
			return to.encodeAll(made);
		});
	}

	/** Any number of records for each one: lines, if these are lines. */
	public <U> Stream<U> flatMap(Type<U> to, Function<? super T, ? extends Iterable<? extends U>> fn) {
		return ask(RawConstants.EMB_FLAT_MAP, to, (some, ends) -> {
			List<U> made = new ArrayList<>();
			for (T record : type.decodeAll(some, ends))
				fn.apply(record).forEach(made::add);
			return to.encodeAll(made);
		});
	}

	/** Those for which a function is true. */
	public Stream<T> filter(Predicate<? super T> fn) {
		return ask(RawConstants.EMB_FILTER, type, (some, ends) -> {
			List<T> all = type.decodeAll(some, ends);
			byte[] keep = new byte[all.size()];
			for (int i = 0; i < keep.length; i++)
				keep[i] = (byte)(fn.test(all.get(i)) ? 1 : 0);
			return keep;
		});
	}

	/** Shown to a function as they go by. */
	public Stream<T> peek(Consumer<? super T> fn) {
		return ask(RawConstants.EMB_INSPECT, type, (some, ends) -> {
			type.decodeAll(some, ends).forEach(fn);
			return null;
		});
	}

	/** Of neighbours that are equal in an order one record, what a function makes of two at a time. */
	public Stream<T> reduce(Order<T> order, BinaryOperator<T> fn) {
		return made(type, Raw.emb_stream_reduce(this, order, type.adding(fn)));
	}

	/** sort() and reduce(), which adds before anything is written: sums must not depend on what was added first,
	 *  nor change how records are sorted. */
	public Stream<T> sortReduce(Order<T> order, Options opts, BinaryOperator<T> fn) {
		return made(type, Raw.emb_stream_sort_reduce(this, order, opts, type.adding(fn)));
	}

	/** Without records for which a function says k, which go to the k-th sink, and not 0.  Sinks are finished by
	 *  the caller, when this is at its end. */
	public Stream<T> split(ToIntFunction<? super T> fn, List<Sink<T>> sinks) {
		return made(type, Raw.emb_stream_split(this, sinks, (some, ends) -> {
			List<T> all = type.decodeAll(some, ends);
			ByteBuffer to = Native.wrap(new byte[all.size() * 4]);
			all.forEach(record -> to.putInt(fn.applyAsInt(record)));
			return to.array();
		}));
	}

	/** Sorted, with the fields of em_sort_opts, or null. */
	public Stream<T> sort(Order<T> order, Options opts) {
		return made(type, Raw.em_stream_sort(this, order, opts));
	}

	/** Of neighbours that are equal the first. */
	public Stream<T> unique(Order<T> order) { return made(type, Raw.em_stream_unique(this, order, 0)); }

	/** The same followed by how many they were, a u64; lines begin with that, in digits, and a tab. */
	public <U> Stream<U> uniqueCounted(Order<T> order, Type<U> to) {
		return made(to, Raw.em_stream_unique(this, order, RawConstants.EM_UNIQUE_COUNT));
	}

	/** Others behind it. */
	public Stream<T> concat(List<Stream<T>> others) { return made(type, Raw.em_stream_concat(with(others))); }

	/** It and others, which are all sorted, as one. */
	public Stream<T> merge(List<Stream<T>> others, Order<T> order) {
		return made(type, Raw.em_stream_merge(with(others), order));
	}

	/** Its records and those of another one side by side. */
	public <U, V> Stream<V> zip(Stream<U> other, Type<V> to) {
		return made(to, Raw.em_stream_zip(List.of(this, other)));
	}

	/** A set operation on two that are sorted. */
	public Stream<T> set(Operation operation, Stream<T> other, Order<T> order) {
		return made(type, Raw.em_stream_set(this, other, order, operation.ordinal()));
	}

	private <U, V> Stream<V> joined(Join kind, Stream<U> other, String left, String right, Type<V> to,
		String separator, Native.Ask fn) {
		try (Order<T> by = Order.of(ctx, type, left); Order<U> otherBy = Order.of(ctx, other.type, right)) {
			return made(to, Raw.emb_stream_join(this, other, kind.ordinal(), by, otherBy,
				to.bytes, separator, 0, fn));
		}
	}

	/** Join with another one, both sorted by keys: fields, or, of lines, options of the command; see
	 *  {@link Order#of}.  A function makes a record of two, one of which may be null. */
	public <U, V> Stream<V> join(Join kind, Stream<U> other, String left, String right, Type<V> to,
		BiFunction<? super T, ? super U, ? extends V> fn) {
		return joined(kind, other, left, right, to, "",
			(a, b) -> to.encode(fn.apply(type.decode(a), other.type.decode(b))));
	}

	/** The same of lines without a function: the fields of the keys, then the others of both, with a separator of
	 *  one byte in between, or, if that is "", as those of the left ones. */
	public Stream<T> join(Join kind, Stream<T> other, String left, String right, String separator) {
		return joined(kind, other, left, right, type, separator, null);
	}

	/** Told how far a graph got, as {@link #graph} says: true stops it. */
	@FunctionalInterface
	public interface Progress {
		boolean stop(int phase, long done, long total);
	}

	/** It, which tells how far its graph got, at most every 0.1 s, while it is pulled. */
	public Stream<T> progress(Progress fn) {
		try {
			return made(type, Native.take(RawJNI.emb_stream_progress(id, Native.keep(fn))));
		} finally {
			Reference.reachabilityFence(this);
		}
	}

	/** Without the first records, and of the others so many; {@link #UNKNOWN}: all. */
	public Stream<T> slice(long skip, long take) { return made(type, Raw.em_stream_slice(this, skip, take)); }

	/** From the last to the first. */
	public Stream<T> reverse() { return made(type, Raw.em_stream_reverse(this, 0)); }

	/** A field, a number of 64 bits, becomes its sum with those of all records before. */
	public Stream<T> prefixSum(String field) {
		return made(type, Raw.emb_stream_sums(this, type.order(field)));
	}

	/** Each window of so many neighbours as one record. */
	public <U> Stream<U> window(long records, long step, Type<U> to) {
		return made(to, Raw.emb_stream_window(this, records, step));
	}

	/** Two streams of all records; spill: what one has read and the other has not may go to scratch. */
	public List<Stream<T>> tee(boolean spill) {
		Object[] two = Raw.emb_stream_tee(this, spill, 0);
		return List.of(made(type, (Long)two[0]), made(type, (Long)two[1]));
	}

	/** Work on, and lend, so many records at a time. */
	public Stream<T> batch(long records) {
		Raw.em_stream_batch(this, records);
		return this;
	}

	/** The next records, side by side, or null.  Not of lines. */
	public byte[] next() {
		if (type.bytes == 0)
			throw ExtmemException.usage("lines are iterated over");
		return Native.bytes(Raw.em_stream_next(this));
	}

	/** There is one, which goes on where a loop was left. */
	@Override
	public Iterator<T> iterator() {
		return loop(() -> type.batch(Raw.em_stream_next(this)), (mark, n) -> Raw.em_stream_back(this, mark, n));
	}

	/** How many records were not lent yet, or {@link #UNKNOWN}. */
	public long count() { return Raw.em_stream_count(this); }

	/** Of the sort that it is, as JSON. */
	public String sortStats() { return Native.string(Raw.em_stream_sort_stats_get(this)); }

	/** Of the runs of sortReduce(), as JSON. */
	public String runsInfo() { return Native.string(Raw.em_stream_runs_info_get(this)); }

	/** What a graph takes of the memory, and how far it got, as JSON. */
	public String graph() { return Native.string(Raw.em_stream_graph_info_get(this)); }

	/** Push all to a sink, which is left open: how many there were. */
	public long to(Sink<T> sink) { return Raw.em_stream_pump(this, sink); }

	/** Push all to a sorter, which may be given more: how many there were. */
	public long to(Sorter<T> sink) { return Raw.emb_stream_to_sorter(this, sink); }

	public long to(Stack<T> sink) { return Raw.emb_stream_to_stack(this, sink); }

	public long to(Queue<T> sink) { return Raw.emb_stream_to_queue(this, sink); }

	/** Behind its last record. */
	public long to(Deque<T> sink) { return Raw.emb_stream_to_deque(this, sink); }

	public long to(PriorityQueue<T> sink) { return Raw.emb_stream_to_pq(this, sink); }

	/** Load a tree, which is empty: records are entries, in its order. */
	public long to(BTree<?, ?> sink) { return Raw.emb_stream_to_btree(this, sink); }

	/** Write a vector from a position on: the position behind the last record. */
	public long to(Vector<T> sink, long from) { return Raw.emb_stream_to_vector(this, sink, from); }

	/** Write a file, which appears when it is whole. */
	public long toFile(Path path) {
		return type.bytes == 0 ? toLines(path, null) : Raw.<Long>emb_stream_to_file(this, ctx, path);
	}

	/** Write a file of lines, or, with the fields of em_format, of other records of any length. */
	public long toLines(Path path, Options format) { return Raw.emb_stream_to_lines(this, ctx, path, format); }
}
