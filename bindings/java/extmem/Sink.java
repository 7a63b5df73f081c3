// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;

/** Where records are pushed to, wherever they go: push, finish, close. */
public final class Sink<T> extends Input<T> {
	Sink(Type<T> type, long made) { super(type, made); }

	/** A function that is handed records, and one that is called when it is finished, or null. */
	public static <T> Sink<T> of(Context ctx, Type<T> type, Consumer<? super List<T>> records, Runnable finished) {
		return new Sink<>(type, Raw.emb_sink_function(ctx, type.bytes, (some, none) -> {
			if (some != null)
				records.accept(type.decodeAll(some));
			else if (finished != null)
				finished.run();
			return null;
		}));
	}

	/** A file, which appears when it is finished. */
	public static <T> Sink<T> ofFile(Context ctx, Type<T> type, Path path) {
		return new Sink<>(type, Raw.em_sink_file(ctx, type.bytes, path));
	}

	/** A file of lines, or, with the fields of em_format, of other records of any length. */
	public static Sink<String> ofLines(Context ctx, Path path, Options format) {
		return new Sink<>(Type.LINES, Raw.em_sink_lines(ctx, path, format));
	}

	/** Nothing: records are counted, and forgotten. */
	public static <T> Sink<T> discard(Context ctx, Type<T> type) {
		return new Sink<>(type, Raw.em_sink_discard(ctx, type.bytes));
	}

	@Override
	Object add(Object records) {
		return type.bytes == 0 ? Raw.emb_sink_push_lines(this, records) : Raw.em_sink_push(this, records);
	}

	/** Have all of them where they belong. */
	public void finish() { Raw.em_sink_finish(this); }

	/** How many records it took. */
	public long count() { return Raw.em_sink_count(this); }
}
