// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.RecordComponent;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.BinaryOperator;
import java.util.function.Function;

/**
 * How a value is bytes of a record: numbers, bytes, and records (of Java) of these, one field behind the other.
 *
 * Unsigned numbers of 8 bytes are a long with all 64 bits.
 */
public final class Type<T> {
	/** A field of a record that is an unsigned number. */
	@Retention(RetentionPolicy.RUNTIME)
	@Target(ElementType.RECORD_COMPONENT)
	public @interface Unsigned { }

	/** How many bytes a field of a record has that is an array of them. */
	@Retention(RetentionPolicy.RUNTIME)
	@Target(ElementType.RECORD_COMPONENT)
	public @interface Size { int value(); }

	/** A part of records by its name, and what an order calls it before and behind its offset. */
	record Field(String name, String kind, int at) {
		String key() { return kind + "@" + at; }
	}

	final int bytes;
	final List<Field> fields;
	private final BiConsumer<ByteBuffer, T> put;
	private final Function<ByteBuffer, T> get;

	private Type(int bytes, List<Field> fields, BiConsumer<ByteBuffer, T> put, Function<ByteBuffer, T> get) {
		this.bytes = bytes;
		this.fields = fields;
		this.put = put;
		this.get = get;
	}

	/** Lines, or other records of any length, as texts in UTF-8. */
	public static final Type<String> LINES =
		new Type<>(0, List.of(), null, b -> StandardCharsets.UTF_8.decode(b).toString());

	private static <T> Type<T> one(
		String kind, int bytes, BiConsumer<ByteBuffer, T> put, Function<ByteBuffer, T> get) {
		String end = bytes == 1 ? "" : ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? "le" : "be";
		return new Type<>(bytes, List.of(new Field(".", kind + end, 0)), put, get);
	}

	public static final Type<Long> U64 = one("u64", 8, ByteBuffer::putLong, ByteBuffer::getLong);
	public static final Type<Long> I64 = one("i64", 8, ByteBuffer::putLong, ByteBuffer::getLong);
	public static final Type<Long> U32 = one("u32", 4, (b, n) -> b.putInt((int)unsigned(n, 32)),
		b -> b.getInt() & 0xffffffffL);
	public static final Type<Integer> I32 = one("i32", 4, ByteBuffer::putInt, ByteBuffer::getInt);
	public static final Type<Integer> U16 = one("u16", 2, (b, n) -> b.putShort((short)unsigned(n, 16)),
		b -> b.getShort() & 0xffff);
	public static final Type<Short> I16 = one("i16", 2, ByteBuffer::putShort, ByteBuffer::getShort);
	public static final Type<Integer> U8 = one("u8", 1, (b, n) -> b.put((byte)unsigned(n, 8)), b -> b.get() & 0xff);
	public static final Type<Byte> I8 = one("i8", 1, ByteBuffer::put, ByteBuffer::get);
	public static final Type<Float> F32 = one("f32", 4, ByteBuffer::putFloat, ByteBuffer::getFloat);
	public static final Type<Double> F64 = one("f64", 8, ByteBuffer::putDouble, ByteBuffer::getDouble);
	private static final Type<Boolean> BOOLEAN =
		one("u8", 1, (b, is) -> b.put((byte)(is ? 1 : 0)), b -> b.get() != 0);

	private static final Map<Class<?>, Type<?>> FIELDS = Map.of(long.class, I64, int.class, I32, short.class, I16,
		byte.class, I8, float.class, F32, double.class, F64, boolean.class, BOOLEAN);

	private static long unsigned(long n, int bits) {
		if (n < 0 || n >> bits != 0)
			throw ExtmemException.usage(n + " is no unsigned number of " + bits + " bits");
		return n;
	}

	/** Arrays of so many bytes. */
	public static Type<byte[]> bytes(int n) {
		if (n <= 0)
			throw ExtmemException.usage("records have at least one byte");
		return new Type<>(n, List.of(new Field(".", "bytes" + n, 0)), (b, array) -> {
			if (array.length != n)
				throw ExtmemException.usage(array.length + " bytes are no record or field of " + n);
			b.put(array);
		}, b -> {
			byte[] array = new byte[n];
			b.get(array);
			return array;
		});
	}

	private static Type<?> of(RecordComponent c) {
		Class<?> t = c.getType();
		boolean unsigned = c.isAnnotationPresent(Unsigned.class);
		if (t == long.class && unsigned)
			return U64;
		if (FIELDS.containsKey(t) && !unsigned)
			return FIELDS.get(t);
		if (t == byte[].class && c.isAnnotationPresent(Size.class))
			return bytes(c.getAnnotation(Size.class).value());
		if (t.isRecord() && !unsigned)
			return of(t.asSubclass(Record.class));
		throw ExtmemException.usage("records cannot have the field " + c
			+ ": numbers, byte[] with @Size and records can be fields, and a long can be @Unsigned");
	}

	/** Records of a class of Java. */
	public static <R extends Record> Type<R> of(Class<R> type) {
		RecordComponent[] parts = type.getRecordComponents();
		List<Field> fields = new ArrayList<>();
		Part[] all = new Part[parts.length];
		Class<?>[] types = new Class<?>[parts.length];
		int at = 0;
		MethodHandle make;

		try {
			MethodHandles.Lookup lookup = MethodHandles.lookup();
			for (int i = 0; i < parts.length; i++) {
				Type<?> one = of(parts[i]);
				for (Field f : one.fields) {
					String inner = f.name.equals(".") ? "" : "." + f.name;
					fields.add(new Field(parts[i].getName() + inner, f.kind, at + f.at));
				}
				at += one.bytes;
				types[i] = parts[i].getType();
				parts[i].getAccessor().setAccessible(true);
				all[i] = new Part(one, lookup.unreflect(parts[i].getAccessor()));
			}
			var constructor = type.getDeclaredConstructor(types);
			constructor.setAccessible(true);
			make = lookup.unreflectConstructor(constructor);
		} catch (ReflectiveOperationException e) {
			throw new IllegalArgumentException(e);
		}
		if (at == 0)
			throw ExtmemException.usage(type + " has no bytes");
		return new Type<>(at, fields, (b, record) -> {
			for (Part p : all)
				p.put(b, record);
		}, b -> {
			Object[] values = new Object[all.length];
			for (int i = 0; i < all.length; i++)
				values[i] = all[i].type.get.apply(b);
			try {
				return type.cast(make.invokeWithArguments(values));
			} catch (Throwable e) {
				throw Native.thrown(e);
			}
		});
	}

	private record Part(Type<?> type, MethodHandle accessor) {
		@SuppressWarnings("unchecked")
		void put(ByteBuffer b, Object record) {
			try {
				((Type<Object>)type).put.accept(b, accessor.invoke(record));
			} catch (Throwable e) {
				throw Native.thrown(e);
			}
		}
	}

	/** How many bytes a record has. */
	public int bytes() { return bytes; }

	void put(ByteBuffer to, T value) { put.accept(to, value); }

	T get(ByteBuffer from) { return get.apply(from); }

	byte[] encode(T value) {
		if (bytes == 0)
			return ((String)value).getBytes(StandardCharsets.UTF_8);
		byte[] record = new byte[bytes];
		put.accept(Native.wrap(record), value);
		return record;
	}

	/** The bytes of a bound, or null: none. */
	byte[] bound(T value) { return value == null ? null : encode(value); }

	/** The bytes of many bounds, or null: none. */
	byte[] bounds(java.util.Collection<? extends T> values) { return values == null ? null : encodeAll(values); }

	/** Room for so many records. */
	byte[] room(long n) { return new byte[Math.multiplyExact((int)n, bytes)]; }

	T decode(byte[] record) { return record == null ? null : get.apply(Native.wrap(record)); }

	List<T> decodeAll(byte[] records) {
		ByteBuffer b = Native.wrap(records);
		List<T> list = new ArrayList<>(records.length / bytes);
		while (b.hasRemaining())
			list.add(get.apply(b));
		return list;
	}

	/** The same of what a function of a stream gets: of lines with where they end. */
	@SuppressWarnings("unchecked")
	List<T> decodeAll(byte[] records, byte[] ends) {
		if (bytes > 0)
			return decodeAll(records);
		List<String> list = new ArrayList<>(ends.length / 8);
		ByteBuffer b = Native.wrap(ends);
		for (int begin = 0; b.hasRemaining();) {
			int end = (int)b.getLong();
			list.add(new String(records, begin, end - begin, StandardCharsets.UTF_8));
			begin = end;
		}
		return (List<T>)list;
	}

	/** A batch that a call gave back, or null. */
	List<T> batch(Object result) {
		if (result == Native.END)
			return null;
		if (result instanceof byte[])
			return decodeAll((byte[])result);
		return decodeAll((byte[])((Object[])result)[0], (byte[])((Object[])result)[1]);
	}

	/** Of neighbours that are equal one record, what a function makes of two at a time; or null without one. */
	Native.Ask adding(BinaryOperator<T> fn) {
		return fn == null ? null : (sum, some) -> {
			List<T> more = bytes == 0 ? decodeAll(sum, some) : decodeAll(some);
			T all = bytes == 0 ? more.remove(0) : decode(sum);
			for (T record : more)
				all = fn.apply(all, record);
			return encode(all);
		};
	}

	/** How many lines, where they end, and they. */
	private static byte[] join(java.util.Collection<?> lines) {
		List<byte[]> all = new ArrayList<>(lines.size());
		long bytes = 8L + 8L * lines.size();
		for (Object line : lines) {
			all.add(LINES.encode((String)line));
			bytes += all.get(all.size() - 1).length;
		}
		ByteBuffer batch = Native.wrap(new byte[Math.toIntExact(bytes)]).putLong(all.size());
		long end = 0;
		for (byte[] line : all)
			batch.putLong(end += line.length);
		for (byte[] line : all)
			batch.put(line);
		return batch.array();
	}

	byte[] encodeAll(java.util.Collection<? extends T> values) {
		if (bytes == 0)
			return join(values);
		byte[] records = new byte[Math.multiplyExact(values.size(), bytes)];
		ByteBuffer b = Native.wrap(records);
		for (T value : values)
			put.accept(b, value);
		return records;
	}

	/** An order for "field,-other" (- descends), "" (all fields), or as the library has it ("u64le@0:r"). */
	String order(String key) {
		if (key.contains("@"))
			return key;
		if (key.isEmpty())
			return String.join(",", fields.stream().map(Field::key).toList());
		List<String> names = new ArrayList<>();
		for (String want : key.split(",", -1)) {
			boolean descending = want.startsWith("-");
			String name = descending ? want.substring(1) : want;
			Field found = fields.stream().filter(f -> f.name.equals(name)).findFirst().orElseThrow(
				() -> ExtmemException.usage("records have no field " + want));
			names.add(found.key() + (descending ? ":r" : ""));
		}
		return String.join(",", names);
	}
}
