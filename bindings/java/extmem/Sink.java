// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;

/** Where records are pushed to, wherever they go: push, finish, close. */
public final class Sink<T> extends Input<T> {
	Sink(Object made, Object used, Type<T> type) { super(made, used, type); }

	/** A function that is handed records, and one that is called when it is finished, or null. */
	public static <T> Sink<T> of(Context ctx, Type<T> type, Consumer<? super List<T>> records, Runnable finished) {
		Native.Ask ask = (some, none) -> {
			if (some != null)
				records.accept(type.decodeAll(some));
			else if (finished != null)
				finished.run();
			return null;
		};
		return new Sink<>(RawJNI.emb_sink_function(ctx.id, type.bytes, Native.keep(ask)), ctx, type);
	}

	/** A file, which appears when it is finished. */
	public static <T> Sink<T> ofFile(Context ctx, Type<T> type, Path path) {
		return new Sink<>(RawJNI.em_sink_file(ctx.id, type.bytes, Native.text(path)), ctx, type);
	}

	/** A file of lines, or, with the fields of em_format, of other records of any length. */
	public static Sink<String> ofLines(Context ctx, Path path, Options format) {
		byte[] encoded = Options.encode(format);
		return new Sink<>(RawJNI.em_sink_lines(ctx.id, Native.text(path), encoded), ctx, Type.LINES);
	}

	/** Nothing: records are counted, and forgotten. */
	public static <T> Sink<T> discard(Context ctx, Type<T> type) {
		return new Sink<>(RawJNI.em_sink_discard(ctx.id, type.bytes), ctx, type);
	}

	@Override
	Object add(Object records) {
		return type.bytes == 0 ? RawJNI.emb_sink_push_lines(id, records) : RawJNI.em_sink_push(id, records);
	}

	/** Have all of them where they belong. */
	public void finish() { Native.take(RawJNI.em_sink_finish(id), this); }

	/** How many records it took. */
	public long count() { return number(RawJNI.em_sink_count(id)); }
}
