// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;

/** An array on disks with a cache, or, with the option "path", in a file. */
public final class Vector<T> extends Sequence<T> {
	private static final Functions F = new Functions(Raw::em_vector_open, Raw::em_vector_size,
		Raw::em_vector_stats_get, Raw::em_vector_get, Raw::em_vector_set, Raw::em_vector_read,
		Raw::em_vector_write);
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
	public Vector(Context ctx, Type<T> type, Options opts) { super(F, ctx, type, opts); }

	/** Add a record behind the last. */
	public void push(T record) { Raw.em_vector_push(this, type.encode(record)); }

	public void pushAll(Collection<? extends T> records) { pushMany(type.encodeAll(records)); }

	/** Records side by side, in the native byte order. */
	public void pushMany(byte[] records) { Raw.em_vector_push_many(this, records); }

	/** Records from the position to the limit, which becomes the position.  A direct buffer is not copied. */
	public void pushMany(ByteBuffer records) {
		Native.drain(records, all -> Raw.em_vector_push_many(this, all));
	}

	/** Records from a position on, so many; {@link Stream#UNKNOWN}: all behind it. */
	public Stream<T> stream(long from, long n) { return streamOf(Raw.em_stream_vector(this, from, n, 0)); }

	/** Write from a position on, which is at most size(). */
	public Sink<T> sink(long from) { return sinkOf(Raw.em_sink_vector(this, from)); }

	/** Make it have n records; new ones are zeros. */
	public void resize(long n) { Raw.em_vector_resize(this, n); }

	/** Reads a range ahead, batch by batch. */
	public static final class Reader<T> extends Handle implements Iterable<T> {
		private final Type<T> type;

		private Reader(Vector<T> of, Options opts) {
			super(Raw.em_vector_reader_open(of, opts));
			type = of.type;
		}

		/** The next records, side by side, or null behind the last. */
		public byte[] next() { return Native.bytes(Raw.em_vector_reader_next(this)); }

		@Override
		public java.util.Iterator<T> iterator() {
			return new Batches<>(() -> type.batch(Raw.em_vector_reader_next(this)));
		}
	}

	/** Writes records behind others; they are there when it is finished. */
	public static final class Writer<T> extends Input<T> {
		private Writer(Vector<T> of, Options opts) {
			super(of.type, Raw.em_vector_writer_open(of,
				opts == null ? Options.of("from", of.size()) : opts));
		}

		@Override
		Object add(Object records) {
			return Raw.em_vector_writer_push(this, records);
		}

		public void finish() { Raw.em_vector_writer_finish(this); }
	}

	/** With the fields of em_vector_stream_opts, or null: all of it. */
	public Reader<T> reader(Options opts) { return new Reader<>(this, opts); }

	/** With the fields of em_vector_stream_opts, or null: at the end. */
	public Writer<T> writer(Options opts) { return new Writer<>(this, opts); }

	/** The records of many positions. */
	public List<T> readMany(long[] positions) {
		return type.decodeAll(Native.bytes(Raw.em_vector_read_many(this, positions)));
	}

	/** Write what was changed; durable: so that it outlives a crash. */
	public void flush(boolean durable) { Raw.em_vector_flush(this, durable); }

	/** Write all into a file that appears when it is whole. */
	public void export(Path path) { Raw.em_vector_export(this, path); }

	/** Sort in place, with the fields of em_sort_opts, or null. */
	public void sort(Order<T> order, Options opts) { Raw.em_vector_sort(this, 0, size(), order, opts); }

	/** Bring the records into random order; the same seed makes the same one. */
	public void shuffle(long seed, Options opts) { Raw.em_vector_shuffle(this, 0, size(), seed, opts); }

	/** Turn the order of the records around. */
	public void reverse() { Raw.em_vector_reverse(this, 0, size()); }

	/** Overwrite all records with one. */
	public void fill(T record) { Raw.em_vector_fill(this, 0, size(), type.encode(record)); }

	/** Of records that are sorted, the first position whose record is not before a given one, or size(). */
	public long lowerBound(Order<T> order, T record) {
		return Native.number(Raw.em_vector_lower_bound(this, 0, size(), order, type.encode(record)), size());
	}

	static Native.Visit visit(Change function) {
		return (i, records) -> function.change(i, Native.wrap(records));
	}

	private Native.Test test(Predicate<? super T> function) {
		return record -> function.test(type.decode(record));
	}

	/** Call a function with all records, many at a time, which are copies. */
	public void forEachMany(Change function) { Raw.em_vector_for_each(this, 0, size(), visit(function)); }

	/** Call a function with all records, many at a time, and write what it changes. */
	public void mutate(Change function) { Raw.em_vector_mutate(this, 0, size(), visit(function)); }

	/** The first position for whose record a function is true, or -1. */
	public long find(Predicate<? super T> function) {
		return Native.number(Raw.em_vector_find(this, 0, size(), test(function)), -1);
	}

	/** For how many records a function is true. */
	public long count(Predicate<? super T> function) {
		return Raw.em_vector_count(this, 0, size(), test(function));
	}

	/** Bring records in front for which a function is true: the position of the first other one. */
	public long partition(Predicate<? super T> function) {
		return Raw.em_vector_partition(this, 0, size(), test(function));
	}
}
