// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** A B+-tree: a sorted map. */
public final class BTree<K, V> extends Handle implements Iterable<Map.Entry<K, V>> {
	private static final int CHUNK = 1 << 14;
	private final Type<K> keys;
	private final Type<V> values;
	private final Order<?> order;
	private final int bytes;

	private BTree(Type<K> keys, Type<V> values, Order<?> order, long opened) {
		super(opened);
		this.keys = keys;
		this.values = values;
		this.order = order;
		own = order;
		bytes = order.type.bytes;
	}

	/** The order of entries: that of keys, which stand in front; values may be null: a set. */
	private static Order<byte[]> order(Context ctx, Type<?> keys, Type<?> values, String key) {
		return Order.of(ctx, Type.bytes(keys.bytes + (values == null ? 0 : values.bytes)), keys.order(key));
	}

	/** Make one, sorted by fields of the keys (see {@link Order#of}), with the fields of em_btree_opts, or null. */
	public static <K, V> BTree<K, V> create(Context ctx, Type<K> keys, Type<V> values, String key, Options opts) {
		Order<?> order = order(ctx, keys, values, key);
		return new BTree<>(keys, values, order, Raw.em_btree_open(ctx, order, opts));
	}

	/** Make one by an order of whole entries as bytes, such as {@link Order#comparing}, which sees just keys. */
	public static <K, V> BTree<K, V> create(Type<K> keys, Type<V> values, Order<byte[]> order, Options opts) {
		Options all = Options.copy(opts).set("key_bytes", keys.bytes);
		BTree<K, V> tree = new BTree<>(keys, values, order, Raw.em_btree_open(order.ctx, order, all));
		tree.own = null;
		return tree;
	}

	/** An order of entries by a comparison of their keys, for {@link #create(Type, Type, Order, Options)}. */
	public static <K> Order<byte[]> comparing(
		Context ctx, Type<K> keys, Type<?> values, java.util.Comparator<K> cmp) {
		Type<byte[]> entries = Type.bytes(keys.bytes + (values == null ? 0 : values.bytes));
		return Order.comparing(ctx, entries,
			(a, b) -> cmp.compare(keys.get(Native.wrap(a)), keys.get(Native.wrap(b))));
	}

	/** Open one that was saved, to be read. */
	public static <K, V> BTree<K, V> open(
		Context ctx, Path path, Type<K> keys, Type<V> values, String key, Options opts) {
		Order<?> order = order(ctx, keys, values, key);
		return new BTree<>(keys, values, order, Raw.em_btree_open_file(ctx, path, order, opts));
	}

	private byte[] record(K key, V value) {
		byte[] record = new byte[bytes];
		ByteBuffer b = Native.wrap(record);
		keys.put(b, key);
		if (values != null && value != null)
			values.put(b, value);
		return record;
	}

	private Map.Entry<K, V> entry(byte[] record) {
		if (record == null)
			return null;
		ByteBuffer b = Native.wrap(record);
		K key = keys.get(b);
		// Of a set the value is null, which Map.entry() refuses.
		return new AbstractMap.SimpleImmutableEntry<>(key, values == null ? null : values.get(b));
	}

	private Map.Entry<K, V> found(Object result) { return entry(Native.bytes(result)); }

	/** How many entries there are. */
	public long size() { return Raw.em_btree_size(this); }

	/** Statistics, as JSON. */
	public String stats() { return Native.string(Raw.em_btree_stats_get(this)); }

	/** The value of a key, or null. */
	public V get(K key) {
		Map.Entry<K, V> found = found(Raw.em_btree_get(this, keys.encode(key)));
		return found == null ? null : found.getValue();
	}

	/** Is there such a key? */
	public boolean containsKey(K key) { return found(Raw.em_btree_get(this, keys.encode(key))) != null; }

	/** Add a key, or overwrite its value. */
	public void put(K key, V value) { Raw.em_btree_upsert(this, record(key, value)); }

	/** Take out a key: was it there? */
	public boolean remove(K key) { return found(Raw.em_btree_erase(this, keys.encode(key))) != null; }

	/** The first entry, or null. */
	public Map.Entry<K, V> first() { return found(Raw.em_btree_min(this)); }

	/** The last entry, or null. */
	public Map.Entry<K, V> last() { return found(Raw.em_btree_max(this)); }

	/** Take out the first entry, or null. */
	public Map.Entry<K, V> popFirst() { return found(Raw.em_btree_pop_min(this)); }

	/** Take out the last entry, or null. */
	public Map.Entry<K, V> popLast() { return found(Raw.em_btree_pop_max(this)); }

	/** Add or overwrite many entries, whose bytes ({@link #entry(Object, Object)}) stand side by side. */
	public void putMany(byte[] entries) { Raw.em_btree_upsert_many(this, entries); }

	public void putAll(Map<? extends K, ? extends V> entries) {
		ByteArrayOutputStream all = new ByteArrayOutputStream();
		entries.forEach((key, value) -> all.writeBytes(record(key, value)));
		putMany(all.toByteArray());
	}

	/** The values of many keys, with null where there is no such key. */
	public List<V> getMany(Collection<? extends K> wanted) {
		Object[] result = Raw.em_btree_get_many(this, keys.encodeAll(wanted));
		// How many were found, their records, and whether there is one.
		byte[] records = (byte[])result[1], found = (byte[])result[2];
		List<V> list = new ArrayList<>();
		for (int i = 0; i < found.length; i++)
			list.add(found[i] == 0
					? null
					: entry(Arrays.copyOfRange(records, i * bytes, (i + 1) * bytes)).getValue());
		return list;
	}

	/** How many keys are at least from and at most to; null: no bound. */
	public long count(K from, K to) { return Raw.em_btree_count(this, keys.bound(from), keys.bound(to)); }

	/** Take out keys that are at least from and less than to: how many; null: no bound. */
	public long removeRange(K from, K to) {
		return Raw.em_btree_erase_range(this, keys.bound(from), keys.bound(to));
	}

	/**
	 * Call a function with all entries whose keys are at least from and less than to, in order, many at a time;
	 * null: no bound.  They are copies of their bytes ({@link #entry(Object, Object)}); i is how many came before.
	 */
	public void forEachMany(K from, K to, Vector.Change function) {
		Raw.em_btree_for_each(this, keys.bound(from), keys.bound(to), Vector.visit(function));
	}

	/**
	 * The same of many ranges, each from a key of the one collection to that of the other; null: no bound for any.
	 * Here i is the number of the range.  Each part of the tree is read once, so ranges that overlap take turns.
	 */
	public void forEachRange(
		Collection<? extends K> from, Collection<? extends K> to, Vector.Change function) {
		Raw.em_btree_for_each_many(this, keys.bounds(from), keys.bounds(to), Vector.visit(function));
	}

	/** Take out everything. */
	public void clear() { Raw.em_btree_clear(this); }

	/** Fill an empty tree with all that a sorter of entries as bytes, by the order of the tree, has. */
	public void load(Sorter<byte[]> sorter) { Raw.em_btree_load_sorted(this, sorter, null); }

	/** A sorter for {@link #load}: {@link #entry(Object, Object)} makes what is pushed. */
	public Sorter<byte[]> sorter(Options opts) {
		@SuppressWarnings("unchecked") Order<byte[]> bytes = (Order<byte[]>)order;
		return new Sorter<>(bytes, opts);
	}

	/** The bytes of an entry. */
	public byte[] entry(K key, V value) { return record(key, value); }

	/** Save it to a file, which {@link #open} opens. */
	public void save(Path path) { Raw.em_btree_save(this, path); }

	/** Read all of it and look whether it is whole. */
	public void verify() { Raw.em_btree_verify(this); }

	/** Iterates over all entries in order.  The tree may change meanwhile; some entries ahead are read already. */
	@Override
	public Iterator<Map.Entry<K, V>> iterator() {
		return range(null, null).iterator();
	}

	/** Entries whose keys are at least from and less than to, in order; null: no bound. */
	public Iterable<Map.Entry<K, V>> range(K from, K to) {
		return () -> {
			Cursor cursor = cursor();
			byte[] end = to == null ? null : record(to, null);
			if (from != null)
				Raw.em_btree_cursor_seek(cursor, keys.encode(from), Where.LT.how);
			return new Batches<>(() -> batch(cursor, end));
		};
	}

	/** Entries of a range as a stream of values that have the bytes of a key and those of its value. */
	public <T> Stream<T> stream(K from, K to, Type<T> type) {
		return new Stream<>(order.ctx, type, Raw.em_stream_btree(this, keys.bound(from), keys.bound(to)));
	}

	/** A cursor, which stands before the first entry. */
	public Cursor cursor() { return new Cursor(); }

	/** Where {@link Cursor#seek} goes: the first key that is at least or greater, the last at most or less. */
	public enum Where {
		GE(RawConstants.EM_BTREE_GE),
		GT(RawConstants.EM_BTREE_GT),
		LE(RawConstants.EM_BTREE_LE),
		LT(RawConstants.EM_BTREE_LT),
		EQ(RawConstants.EM_BTREE_EQ);

		private final int how;

		Where(int how) { this.how = how; }
	}

	/** A place in the tree, which stays where it is while that changes.  Methods give an entry, or null. */
	public final class Cursor extends Handle {
		private int many = 1;

		Cursor() { super(Raw.em_btree_cursor_open(BTree.this)); }

		/** Go to a key; null with GE: to the first of all, with LE: to the last. */
		public Map.Entry<K, V> seek(K key, Where where) {
			return Raw.em_btree_cursor_seek(this, keys.bound(key), where.how) == Native.END ? null : get();
		}

		/** The entry that it stands on. */
		public Map.Entry<K, V> get() { return found(Raw.em_btree_cursor_get(this)); }

		/** Go to the next entry. */
		public Map.Entry<K, V> next() { return found(Raw.em_btree_cursor_next(this)); }

		/** Go to the previous entry. */
		public Map.Entry<K, V> previous() { return found(Raw.em_btree_cursor_prev(this)); }

		/** Take out the entry that it stands on: was there one? */
		public boolean remove() { return Raw.em_btree_cursor_erase(this) != Native.END; }

		/** The next entries, as bytes of records, as many as fit: how many there were. */
		int nextMany(byte[] room) { return (int)Native.number(Raw.em_btree_cursor_next_many(this, room), 0); }
	}

	/** The entries behind a cursor and before an end, many at a time; null: there are no more. */
	private List<Map.Entry<K, V>> batch(Cursor cursor, byte[] end) {
		// A cursor keeps its tree, also one that is closed.
		size();
		List<Map.Entry<K, V>> list = new ArrayList<>();
		byte[] room = order.type.room(cursor.many);
		int n = cursor.isClosed() ? 0 : cursor.nextMany(room);
		// More and more, as most ranges are short.
		cursor.many = Math.max(Math.min(2 * cursor.many, CHUNK / bytes), 1);
		for (int i = 0; i < n && !cursor.isClosed(); i++) {
			byte[] record = Arrays.copyOfRange(room, i * bytes, (i + 1) * bytes);
			if (end != null && Raw.em_order_compare(order, record, end) >= 0)
				cursor.close();
			else
				list.add(entry(record));
		}
		if (n == 0)
			cursor.close();
		return list.isEmpty() ? null : list;
	}
}
