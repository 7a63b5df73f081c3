// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;

/** Sorts lines: records of any length. */
public final class Lines extends Handle implements Iterable<String> {
	private boolean finished;

	/** Make one for an order of lines, with the fields of em_sort_opts, or null. */
	public Lines(Order<String> order, Options opts) {
		super(Native.number(RawJNI.em_sorter_open(order.ctx.id, order.id, order.sortOptions(opts)), order));
	}

	/** Push lines, without their newlines, in UTF-8. */
	public void pushAll(Collection<String> lines) {
		List<byte[]> all = new ArrayList<>(lines.size());
		long bytes = 8L + 8L * lines.size();
		for (String line : lines) {
			all.add(line.getBytes(StandardCharsets.UTF_8));
			bytes += all.get(all.size() - 1).length;
		}
		ByteBuffer batch = Native.wrap(new byte[Math.toIntExact(bytes)]).putLong(all.size());
		long end = 0;
		for (byte[] line : all)
			batch.putLong(end += line.length);
		for (byte[] line : all)
			batch.put(line);
		Native.take(RawJNI.em_sorter_push_batch(id, batch.array()), this);
	}

	/** Push a line. */
	public void push(String line) { pushAll(List.of(line)); }

	/** End the input. */
	public void finish() {
		Native.take(RawJNI.em_sorter_finish(id), this);
		finished = true;
	}

	/** The next lines in order, or null behind the last. */
	private List<String> batch() {
		if (!finished)
			finish();
		Object result = Native.take(RawJNI.em_sorter_next(id), this);
		if (result == Native.END)
			return null;
		byte[] lines = (byte[])((Object[])result)[0];
		ByteBuffer ends = Native.wrap((byte[])((Object[])result)[1]);
		List<String> list = new ArrayList<>();
		for (int begin = 0; ends.hasRemaining();) {
			int end = (int)ends.getLong();
			list.add(new String(lines, begin, end - begin, StandardCharsets.UTF_8));
			begin = end;
		}
		return list;
	}

	/** Take out the rest of the lines, in order; finishes, if that was not done. */
	@Override
	public Iterator<String> iterator() {
		return new Batches<>(this::batch);
	}

	/** Statistics of the sort and its phases, as JSON. */
	public String stats() { return Native.json(RawJNI.em_sorter_stats_get(id), this, null); }
}
