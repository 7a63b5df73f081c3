// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;

/** An array on disks with a cache, or, with the option "path", in a file. */
public final class Vector<T> extends Sequence<T> {
	private static final Functions F = new Functions(RawJNI::em_vector_size, RawJNI::em_vector_stats_get,
		RawJNI::em_vector_get, RawJNI::em_vector_set, RawJNI::em_vector_read, RawJNI::em_vector_write);
	/** Flags of one in a file: {@code Options.of("path", ...).set("flags", Vector.CREATE)}. */
	public static final long CREATE = RawConstants.EM_VECTOR_CREATE;
	public static final long TRUNCATE = RawConstants.EM_VECTOR_TRUNCATE;
	public static final long READ_ONLY = RawConstants.EM_VECTOR_READ_ONLY;

	/** Told of many records at a time, side by side, and the position of the first; what it changes is written. */
	@FunctionalInterface
	public interface Change {
		void change(long i, ByteBuffer records);
	}

	/** Make one with the fields of em_vector_opts, or null. */
	public Vector(Context ctx, Type<T> type, Options opts) {
		super(F, ctx, open(RawJNI::em_vector_open, ctx, type, opts), ctx, type);
	}

	/** Add a record behind the last. */
	public void push(T record) { done(RawJNI.em_vector_push(id, type.encode(record))); }

	public void pushAll(Collection<? extends T> records) { pushMany(type.encodeAll(records)); }

	/** Records side by side, in the native byte order. */
	public void pushMany(byte[] records) { done(RawJNI.em_vector_push_many(id, records)); }

	/** Records from the position to the limit, which becomes the position.  A direct buffer is not copied. */
	public void pushMany(ByteBuffer records) {
		done(RawJNI.em_vector_push_many(id, Native.in(records)));
		records.position(records.limit());
	}

	/** Records from a position on, so many; {@link Stream#UNKNOWN}: all behind it. */
	public Stream<T> stream(long from, long n) { return stream(RawJNI.em_stream_vector(id, from, n, 0)); }

	/** Write from a position on, which is at most size(). */
	public Sink<T> sink(long from) { return sink(RawJNI.em_sink_vector(id, from)); }

	/** Make it have n records; new ones are zeros. */
	public void resize(long n) { done(RawJNI.em_vector_resize(id, n)); }

	/** Reads a range ahead, batch by batch. */
	public static final class Reader<T> extends Handle implements Iterable<T> {
		private final Type<T> type;

		private Reader(Vector<T> of, Options opts) {
			super(Native.number(RawJNI.em_vector_reader_open(of.id, Options.encode(opts)), of));
			type = of.type;
		}

		/** The next records, side by side, or null behind the last. */
		public byte[] next() { return Native.bytes(RawJNI.em_vector_reader_next(id), this); }

		@Override
		public java.util.Iterator<T> iterator() {
			return new Batches<>(() -> type.batch(Native.take(RawJNI.em_vector_reader_next(id), this)));
		}
	}

	/** Writes records behind others; they are there when it is finished. */
	public static final class Writer<T> extends Input<T> {
		private Writer(Vector<T> of, Options opts) {
			super(RawJNI.em_vector_writer_open(
				      of.id, (opts == null ? Options.of("from", of.size()) : opts).encode()),
				of, of.type);
		}

		@Override
		Object add(Object records) {
			return RawJNI.em_vector_writer_push(id, records);
		}

		public void finish() { Native.take(RawJNI.em_vector_writer_finish(id), this); }
	}

	/** With the fields of em_vector_stream_opts, or null: all of it. */
	public Reader<T> reader(Options opts) { return new Reader<>(this, opts); }

	/** With the fields of em_vector_stream_opts, or null: at the end. */
	public Writer<T> writer(Options opts) { return new Writer<>(this, opts); }

	/** The records of many positions. */
	public List<T> readMany(long[] positions) {
		return type.decodeAll(Native.bytes(RawJNI.em_vector_read_many(id, positions), this));
	}

	/** Write what was changed; durable: so that it outlives a crash. */
	public void flush(boolean durable) { done(RawJNI.em_vector_flush(id, durable ? 1 : 0)); }

	/** Write all into a file that appears when it is whole. */
	public void export(Path path) { done(RawJNI.em_vector_export(id, Native.text(path))); }

	/** Sort in place, with the fields of em_sort_opts, or null. */
	public void sort(Order<T> order, Options opts) {
		Native.take(RawJNI.em_vector_sort(id, 0, size(), order.id, order.sortOptions(opts)), this, order);
	}

	/** Bring the records into random order; the same seed makes the same one. */
	public void shuffle(long seed, Options opts) {
		done(RawJNI.em_vector_shuffle(id, 0, size(), seed, Options.encode(opts)));
	}

	/** Turn the order of the records around. */
	public void reverse() { done(RawJNI.em_vector_reverse(id, 0, size())); }

	/** Overwrite all records with one. */
	public void fill(T record) { done(RawJNI.em_vector_fill(id, 0, size(), type.encode(record))); }

	/** Of records that are sorted, the first position whose record is not before a given one, or size(). */
	public long lowerBound(Order<T> order, T record) {
		byte[] bound = type.encode(record);
		Object at = Native.take(RawJNI.em_vector_lower_bound(id, 0, size(), order.id, bound), this, order);
		return at == Native.END ? size() : (Long)at;
	}

	private long visit(Change function) {
		return Native.keep((Native.Visit)(i, records) -> function.change(i, Native.wrap(records)));
	}

	private long test(Predicate<? super T> function) {
		return Native.keep((Native.Test)record -> function.test(type.decode(record)));
	}

	/** Call a function with all records, many at a time, which are copies. */
	public void forEachMany(Change function) {
		long n = size();
		done(RawJNI.em_vector_for_each(id, 0, n, visit(function)));
	}

	/** Call a function with all records, many at a time, and write what it changes. */
	public void mutate(Change function) {
		long n = size();
		done(RawJNI.em_vector_mutate(id, 0, n, visit(function)));
	}

	/** The first position for whose record a function is true, or -1. */
	public long find(Predicate<? super T> function) {
		long n = size();
		Object at = Native.take(RawJNI.em_vector_find(id, 0, n, test(function)), this);
		return at == Native.END ? -1 : (Long)at;
	}

	/** For how many records a function is true. */
	public long count(Predicate<? super T> function) {
		long n = size();
		return Native.number(RawJNI.em_vector_count(id, 0, n, test(function)), this);
	}

	/** Bring records in front for which a function is true: the position of the first other one. */
	public long partition(Predicate<? super T> function) {
		long n = size();
		return Native.number(RawJNI.em_vector_partition(id, 0, n, test(function)), this);
	}
}
