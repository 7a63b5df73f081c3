// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.file.Path;
import java.util.List;

/** The budgets, scratch disks and threads that everything else shares.  Any number of threads may use it. */
public final class Context extends Handle {
	/** Make one of the fields of em_ctx_opts: "memory", "dirs", "disks", "threads", ... */
	public Context(Options opts) { super(Native.number(RawJNI.em_ctx_open(Options.encode(opts)), opts)); }

	/** Version of the library that is running. */
	public static String version() { return Native.string(RawJNI.em_version()); }

	/** Stop everything in it, for good; any thread. */
	@Override
	public void cancel() {
		RawJNI.em_ctx_cancel(id);
		number(0);
	}

	/** The budget in bytes. */
	public long memory() { return number(RawJNI.em_ctx_memory(id)); }

	/** How much of it is in use. */
	public long memoryUsed() { return number(RawJNI.em_ctx_memory_used(id)); }

	/** What all of its files moved, as JSON. */
	public String stats() { return Native.json(RawJNI.em_ctx_io_stats_get(id), this, null); }

	/** Write records of files, of one size or lines (0), in random order, with the fields of em_shuffle_opts. */
	public String shuffleFiles(long recordBytes, List<Path> inputs, Path output, Options opts) {
		return Native.json(RawJNI.em_shuffle_files(id, recordBytes, Native.texts(inputs), Native.text(output),
					   Options.encode(opts)),
			this, opts);
	}
}
