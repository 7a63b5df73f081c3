// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.io.ByteArrayOutputStream;
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
 * filtered, looked at, sorted, concatenated, sliced, and mapped to records of one size.
 */
public final class Stream<T> extends Handle implements Iterable<T> {
	/** How many records there are, if nobody knows. */
	public static final long UNKNOWN = -1;
	private static final int SOME = 1024;
	private final Context ctx;
	private final Type<T> type;

	/** Of two sorted streams: {@link #set}. */
	public enum Operation { UNION, INTERSECTION, DIFFERENCE, SYMMETRIC }

	/** What a join has: pairs with equal keys; also those of the left side, or both, without another one; or records
	 *  of the left side with, or without, another one. */
	public enum Join { INNER, LEFT, FULL, SEMI, ANTI }

	Stream(Context ctx, Type<T> type, Object made, Object used) {
		super(Native.number(made, used));
		this.ctx = ctx;
		this.type = type;
		long bytes = number(RawJNI.em_stream_record_bytes(id));
		if (bytes == type.bytes)
			return;
		close();
		throw ExtmemException.usage("records have " + bytes + " bytes, and not " + type.bytes);
	}

	private Stream(Context ctx, Type<T> type, long id) { this(ctx, type, (Object)id, null); }

	/** Batches of records side by side, as a function gives them; null: there are no more. */
	public static <T> Stream<T> ofBatches(Context ctx, Type<T> type, Supplier<byte[]> more) {
		long fn = Native.keep((Native.Ask)(a, b) -> more.get());
		return new Stream<>(ctx, type, RawJNI.emb_stream_source(ctx.id, type.bytes, UNKNOWN, fn), ctx);
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
		return new Stream<>(ctx, type, RawJNI.em_stream_file(ctx.id, type.bytes, Native.texts(paths)), ctx);
	}

	/** The lines of files, one after the other; or, with the fields of em_format, other records of any length. */
	public static Stream<String> ofLines(Context ctx, List<Path> paths, Options format) {
		byte[] encoded = Options.encode(format);
		return new Stream<>(ctx, Type.LINES, RawJNI.em_stream_lines(ctx.id, Native.texts(paths), encoded), ctx);
	}

	private <U> Stream<U> made(Type<U> to, Object made) { return new Stream<>(ctx, to, made, this); }

	private byte[] all(List<Stream<T>> others) {
		ByteBuffer ids = Native.wrap(new byte[8 * (others.size() + 1)]).putLong(id);
		others.forEach(s -> ids.putLong(s.id));
		return ids.array();
	}

	private <U> Stream<U> ask(int what, Type<U> to, Native.Ask fn) {
		return made(to, RawJNI.emb_stream_node(id, what, to.bytes, Native.keep(fn)));
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

	/** Any number of records for each one. */
	public <U> Stream<U> flatMap(Type<U> to, Function<? super T, ? extends Iterable<? extends U>> fn) {
		return ask(RawConstants.EMB_FLAT_MAP, to, (some, none) -> {
			ByteArrayOutputStream made = new ByteArrayOutputStream();
			for (T record : type.decodeAll(some))
				fn.apply(record).forEach(one -> made.writeBytes(to.encode(one)));
			return made.toByteArray();
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
		return made(type, RawJNI.emb_stream_reduce(id, order.id, Native.keep(type.adding(fn))));
	}

	/** sort() and reduce(), which adds before anything is written: sums must not depend on what was added first,
	 *  nor change how records are sorted. */
	public Stream<T> sortReduce(Order<T> order, Options opts, BinaryOperator<T> fn) {
		byte[] encoded = Options.encode(opts);
		return made(type, RawJNI.emb_stream_sort_reduce(id, order.id, encoded, Native.keep(type.adding(fn))));
	}

	/** Without records for which a function says k, which go to the k-th sink, and not 0.  Sinks are finished by
	 *  the caller, when this is at its end. */
	public Stream<T> split(ToIntFunction<? super T> fn, List<Sink<T>> sinks) {
		ByteBuffer ids = Native.wrap(new byte[8 * sinks.size()]);
		sinks.forEach(k -> ids.putLong(k.id));
		Native.Ask ask = (some, none) -> {
			ByteBuffer to = Native.wrap(new byte[some.length / type.bytes * 4]);
			type.decodeAll(some).forEach(record -> to.putInt(fn.applyAsInt(record)));
			return to.array();
		};
		Stream<T> made = made(type, RawJNI.emb_stream_split(id, ids.array(), Native.keep(ask)));
		java.lang.ref.Reference.reachabilityFence(sinks);
		return made;
	}

	/** Sorted, with the fields of em_sort_opts, or null. */
	public Stream<T> sort(Order<T> order, Options opts) {
		return made(type, RawJNI.em_stream_sort(id, order.id, order.sortOptions(opts)));
	}

	/** Of neighbours that are equal the first. */
	public Stream<T> unique(Order<T> order) { return made(type, RawJNI.em_stream_unique(id, order.id, 0)); }

	/** The same followed by how many they were, a u64. */
	public <U> Stream<U> uniqueCounted(Order<T> order, Type<U> to) {
		return made(to, RawJNI.em_stream_unique(id, order.id, RawConstants.EM_UNIQUE_COUNT));
	}

	/** Others behind it. */
	public Stream<T> concat(List<Stream<T>> others) { return made(type, RawJNI.em_stream_concat(all(others))); }

	/** It and others, which are all sorted, as one. */
	public Stream<T> merge(List<Stream<T>> others, Order<T> order) {
		return made(type, RawJNI.em_stream_merge(all(others), order.id));
	}

	/** Its records and those of another one side by side. */
	public <U, V> Stream<V> zip(Stream<U> other, Type<V> to) {
		ByteBuffer ids = Native.wrap(new byte[16]).putLong(id).putLong(other.id);
		return made(to, RawJNI.em_stream_zip(ids.array()));
	}

	/** A set operation on two that are sorted. */
	public Stream<T> set(Operation operation, Stream<T> other, Order<T> order) {
		return made(type, RawJNI.em_stream_set(id, other.id, order.id, operation.ordinal()));
	}

	/** Join with another one, both sorted by fields; a function makes a record of two, one of which may be null. */
	public <U, V> Stream<V> join(Join kind, Stream<U> other, String left, String right, Type<V> to,
		BiFunction<? super T, ? super U, ? extends V> fn) {
		Native.Ask ask = (a, b) -> to.encode(fn.apply(type.decode(a), other.type.decode(b)));
		return made(to, RawJNI.emb_stream_join(id, other.id, kind.ordinal(), Native.text(type.order(left)),
			Native.text(other.type.order(right)), to.bytes, 0, Native.keep(ask)));
	}

	/** Told how far a graph got, as {@link #graph} says: true stops it. */
	@FunctionalInterface
	public interface Progress {
		boolean stop(int phase, long done, long total);
	}

	/** It, which tells how far its graph got, at most every 0.1 s, while it is pulled. */
	public Stream<T> progress(Progress fn) { return made(type, RawJNI.emb_stream_progress(id, Native.keep(fn))); }

	/** Without the first records, and of the others so many; {@link #UNKNOWN}: all. */
	public Stream<T> slice(long skip, long take) { return made(type, RawJNI.em_stream_slice(id, skip, take)); }

	/** From the last to the first. */
	public Stream<T> reverse() { return made(type, RawJNI.em_stream_reverse(id, 0)); }

	/** A field, a number of 64 bits, becomes its sum with those of all records before. */
	public Stream<T> prefixSum(String field) {
		String[] key = type.order(field).split("@");
		int kind = switch (key[0].substring(0, 3)) {
			case "u64" -> RawConstants.EM_KEY_U64;
			case "i64" -> RawConstants.EM_KEY_I64;
			case "f64" -> RawConstants.EM_KEY_F64;
			default -> throw ExtmemException.usage("sums are of numbers of 64 bits, and not of " + field);
		};
		return made(type, RawJNI.em_stream_prefix_sum(id, Long.parseLong(key[1]), kind));
	}

	/** Each window of so many neighbours as one record. */
	public <U> Stream<U> window(long records, long step, Type<U> to) {
		return made(to, RawJNI.emb_stream_window(id, records, step));
	}

	/** Two streams of all records; spill: what one has read and the other has not may go to scratch. */
	public List<Stream<T>> tee(boolean spill) {
		Object[] two = (Object[])Native.take(RawJNI.emb_stream_tee(id, spill ? 1 : 0, 0), this);
		return List.of(new Stream<>(ctx, type, (Long)two[0]), new Stream<>(ctx, type, (Long)two[1]));
	}

	/** Work on, and lend, so many records at a time. */
	public Stream<T> batch(long records) {
		Native.take(RawJNI.em_stream_batch(id, records), this);
		return this;
	}

	/** The next records, side by side, or null.  Not of lines. */
	public byte[] next() {
		if (type.bytes == 0)
			throw ExtmemException.usage("lines are iterated over");
		return Native.bytes(RawJNI.em_stream_next(id), this);
	}

	@Override
	public Iterator<T> iterator() {
		return new Batches<>(() -> type.batch(Native.take(RawJNI.em_stream_next(id), this)));
	}

	/** How many records were not lent yet, or {@link #UNKNOWN}. */
	public long count() { return number(RawJNI.em_stream_count(id)); }

	/** Of the sort that it is, as JSON. */
	public String sortStats() { return Native.json(RawJNI.em_stream_sort_stats_get(id), this, null); }

	/** Of the runs of sortReduce(), as JSON. */
	public String runsInfo() { return Native.json(RawJNI.em_stream_runs_info_get(id), this, null); }

	/** What a graph takes of the memory, and how far it got, as JSON. */
	public String graph() { return Native.json(RawJNI.em_stream_graph_info_get(id), this, null); }

	private interface Pour {
		Object to(long id, long sink);
	}

	private long to(Pour how, Handle to) {
		return Native.number(Native.take(how.to(id, to.id), this, to), null);
	}

	/** Push all to a sink, which is left open: how many there were. */
	public long to(Sink<T> sink) { return to(RawJNI::em_stream_pump, sink); }

	/** Push all to a sorter, which may be given more: how many there were. */
	public long to(Sorter<T> sink) { return to(RawJNI::emb_stream_to_sorter, sink); }

	public long to(Stack<T> sink) { return to(RawJNI::emb_stream_to_stack, sink); }

	public long to(Queue<T> sink) { return to(RawJNI::emb_stream_to_queue, sink); }

	/** Behind its last record. */
	public long to(Deque<T> sink) { return to(RawJNI::emb_stream_to_deque, sink); }

	public long to(PriorityQueue<T> sink) { return to(RawJNI::emb_stream_to_pq, sink); }

	/** Load a tree, which is empty: records are entries, in its order. */
	public long to(BTree<?, ?> sink) { return to(RawJNI::emb_stream_to_btree, sink); }

	/** Write a vector from a position on: the position behind the last record. */
	public long to(Vector<T> sink, long from) {
		return Native.number(Native.take(RawJNI.emb_stream_to_vector(id, sink.id, from), this, sink), null);
	}

	/** Write a file, which appears when it is whole. */
	public long toFile(Path path) {
		if (type.bytes == 0)
			return toLines(path, null);
		return Native.number(RawJNI.emb_stream_to_file(id, ctx.id, Native.text(path)), this);
	}

	/** Write a file of lines, or, with the fields of em_format, of other records of any length. */
	public long toLines(Path path, Options format) {
		byte[] encoded = Options.encode(format);
		return Native.number(RawJNI.emb_stream_to_lines(id, ctx.id, Native.text(path), encoded), this);
	}
}
