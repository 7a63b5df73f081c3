// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.io.InputStream;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.jar.JarFile;

/** Tests of what only Java has. */
final class Usage {
	private Usage() {}

	private static Context context(Path dir) {
		return new Context(Options.of("memory", "32M").set("dirs", List.of(dir)));
	}

	private static void equal(Object got, Object want) { Scenarios.equal(got, want); }

	private static <E extends Throwable> E thrown(Class<E> type, Runnable call) {
		return Scenarios.thrown(type, call);
	}

	private static long[] sortedUnsigned(long[] all) {
		return Arrays.stream(all).map(n -> n ^ Long.MIN_VALUE).sorted().map(n -> n ^ Long.MIN_VALUE).toArray();
	}

	record Counted(@Type.Unsigned long n, @Type.Unsigned long many) {}

	private static Stream<Long> of(Context ctx, Long... all) {
		return Stream.of(ctx, Type.U64, Arrays.asList(all).iterator());
	}

	/** Streams: nodes, where they come from and go to. */
	static void streams(Path dir) throws InterruptedException {
		int kept = Native.kept();
		Type<Counted> counted = Type.of(Counted.class);
		try (Context ctx = context(dir); Order<Long> order = Order.of(ctx, Type.U64)) {
			equal(Scenarios.list(of(ctx, 1L, 2L, 3L).filter(n -> n != 2)), List.of(1L, 3L));
			equal(Scenarios.list(of(ctx, 1L, 2L).flatMap(Type.I32,
				n -> List.of((int)(long)n, -(int)(long)n))), List.of(1, -1, 2, -2));
			List<Long> seen = new ArrayList<>();
			equal(Scenarios.list(of(ctx, 1L, 1L, 2L).peek(seen::add).reduce(order, Long::sum)),
				List.of(2L, 2L));
			equal(seen, List.of(1L, 1L, 2L));
			equal(Scenarios.list(of(ctx, 7L, 7L).uniqueCounted(order, counted)),
				List.of(new Counted(7, 2)));
			equal(Scenarios.list(of(ctx, 1L, 2L).concat(List.of(of(ctx, 9L), of(ctx, 8L)))
				.slice(1, 2).reverse()), List.of(9L, 2L));
			equal(Scenarios.list(of(ctx, 1L, 5L).merge(List.of(of(ctx, 2L)), order)), List.of(1L, 2L, 5L));
			equal(Scenarios.list(of(ctx, 1L, 5L).zip(of(ctx, 2L), counted)), List.of(new Counted(1, 2)));
			equal(Scenarios.list(of(ctx, 1L, 2L).window(2, 1, counted)), List.of(new Counted(1, 2)));
			equal(Scenarios.list(of(ctx, 1L, 2L, 2L).join(Stream.Join.LEFT, of(ctx, 2L), ".", ".", Type.U64,
				      (a, b) -> 10 * a + (b == null ? 0 : b))),
				List.of(10L, 22L, 22L));
			List<Stream<Long>> two = of(ctx, 4L, 1L).tee(true);
			equal(Scenarios.list(two.get(0).batch(1)), List.of(4L, 1L));
			equal(Scenarios.list(two.get(1).prefixSum(".")), List.of(4L, 5L));
			equal(thrown(ExtmemException.Callback.class,
				() -> of(ctx, 1L).mapMany(Type.U64, b -> new byte[3]).next())
					.getMessage(),
				"a function gave 3 bytes in place of 1 records of 8");
			Stream<Long> in = of(ctx, 1L);
			Stream<Long> out = in.slice(0, Stream.UNKNOWN);
			thrown(ExtmemException.State.class, in::next);
			equal(in.isClosed(), true);
			in.close();
			equal(Scenarios.list(out), List.of(1L));
			Path file = dir.resolve("out");
			try (Sorter<Long> s = new Sorter<>(ctx, Type.U64);
				Queue<Long> q = new Queue<>(ctx, Type.U64, null);
				Vector<Long> v = new Vector<>(ctx, Type.U64, null);
				BTree<Long, Void> tree = BTree.create(ctx, Type.U64, null, "", null)) {
				equal(of(ctx, 2L, 1L).to(s), 2L);
				equal(Stream.of(ctx, Type.U64, s.iterator()).toFile(file), 2L);
				equal(Stream.ofFiles(ctx, Type.U64, List.of(file, file)).to(v, 0), 4L);
				equal(Scenarios.list(v), List.of(1L, 2L, 1L, 2L));
				equal(Scenarios.list(v.reader(Options.of("from", 1).set("n", 2))), List.of(2L, 1L));
				try (Vector.Writer<Long> w = v.writer(null)) {
					w.pushAll(List.of(9L));
					w.finish();
				}
				equal(v.get(4), 9L);
				equal(of(ctx, 3L).to(q), 1L);
				equal(of(ctx, 3L, 4L).to(tree), 2L);
				equal(tree.size(), 2L);
			}
			for (int i = 0; i < 100; i++) {
				Stream<Long> half = of(ctx, 1L, 2L).map(Type.U64, n -> n).concat(List.of(of(ctx, 3L)));
				half.batch(1).next();
				half.close();
			}
		}
		// Those that were not closed are collected.
		for (int i = 0; i < 1000 && Native.kept() > kept; i++) {
			System.gc();
			Thread.sleep(5);
		}
		equal(Native.kept(), kept);
	}

	/** What a sort, a queue, a heap would be; a tree by a comparison. */
	static void plans(Path dir) {
		try (Context ctx = context(dir); Order<Long> order = Order.of(ctx, Type.U64)) {
			equal(order.plan(1L << 30, null).contains("\"passes\":"), true);
			equal(PriorityQueue.plan(order, null).startsWith("{"), true);
			equal(RadixHeap.plan(ctx, Type.U64, ".", null).startsWith("{"), true);
			try (Order<byte[]> back = BTree.comparing(ctx, Type.I64, Type.I64,
					(a, b) -> Long.compare(b, a));
				BTree<Long, Long> tree = BTree.create(Type.I64, Type.I64, back, null)) {
				for (long i = -300; i < 300; i++)
					tree.put(i, 2 * i);
				equal(tree.first().getKey(), 299L);
				equal(tree.get(-7L), -14L);
				equal(Scenarios.list(tree.range(2L, 0L)).stream().map(Map.Entry::getKey).toList(),
					List.of(2L, 1L));
			}
		}
	}

	/** Arrays and buffers of any kind go in, and come out in pieces of any length. */
	static void buffers(Path dir) {
		long[] all = Scenarios.noise(60000), want = sortedUnsigned(all), got = new long[all.length];
		ByteBuffer heap = ByteBuffer.allocate(8 * 20000 + 3).order(ByteOrder.nativeOrder()).position(3);
		ByteBuffer direct = ByteBuffer.allocateDirect(8 * 20000 + 5).order(ByteOrder.nativeOrder()).position(5);
		heap.slice().order(ByteOrder.nativeOrder()).asLongBuffer().put(all, 0, 20000);
		direct.slice().order(ByteOrder.nativeOrder()).asLongBuffer().put(all, 20000, 20000);
		try (Context ctx = context(dir);
			Sorter<Long> s = new Sorter<>(ctx, Type.U64, Options.of("run_records", 5000))) {
			s.pushMany(heap.asReadOnlyBuffer());
			s.pushMany(heap.duplicate().position(heap.limit()));
			s.pushMany(direct);
			equal(direct.remaining(), 0);
			s.pushMany(Arrays.copyOfRange(all, 40000, 60000));
			equal(s.pushed(), 60000L);
			int at = 0;
			for (int n = 1;; n = n * 3 % 4099) {
				ByteBuffer room = n % 2 == 0 ? ByteBuffer.allocate(8 * n + 1)
							     : ByteBuffer.allocateDirect(8 * n + 1);
				room.order(ByteOrder.nativeOrder()).position(1);
				int k = s.read(room);
				if (k < 0)
					break;
				equal(room.position(), 8 * k + 1);
				for (int i = 0; i < k; i++)
					got[at++] = room.getLong(8 * i + 1);
			}
			equal(at, got.length);
			equal(Arrays.equals(got, want), true);
			thrown(java.nio.ReadOnlyBufferException.class, () -> s.read(heap.asReadOnlyBuffer()));
			thrown(ExtmemException.Usage.class, () -> s.read(new byte[12]));
			equal(s.stats().contains("\"phases\":{\"runs\":"), true);
			s.clear();
			s.pushMany(new long[] {2, 1});
			equal(s.iterator().next(), 1L);
			thrown(ExtmemException.State.class, () -> s.push(1L));
			s.clear();
			thrown(ExtmemException.Usage.class, () -> s.pushMany(new byte[9]));
			s.push(7L);
			equal(Scenarios.list(s), List.of(7L));
			Sorter.sort(ctx, all, Options.of("memory", "8M"));
			equal(Arrays.equals(all, want), true);
		}
	}

	record Inner(short x, @Type.Size(3) byte[] name) {}

	record All(long l, @Type.Unsigned long u, int i, byte b, boolean is, float f, double d, Inner inner) {}

	record Bad(String s) {}

	record None() {}

	/** Records of Java are records. */
	static void types(Path dir) {
		Type<All> type = Type.of(All.class);
		equal(type.bytes(), 8 + 8 + 4 + 1 + 1 + 4 + 8 + 2 + 3);
		try (Context ctx = context(dir); Order<All> order = Order.of(ctx, type, "-u,inner.x,inner.name");
			Sorter<All> s = new Sorter<>(order)) {
			for (int i = 0; i < 300; i++) {
				Inner inner = new Inner((short)(i % 3 - 1), new byte[] {(byte)i, 0, 1});
				s.push(new All(
					i, i < 100 ? -1 : i % 2, -i, (byte)i, i % 2 == 0, i / 2f, -i / 3.0, inner));
			}
			long last = -1;
			int n = 0;
			for (All a : s) {
				equal(Long.compareUnsigned(a.u, last) <= 0, true);
				equal(a.i, (int)-a.l);
				equal(a.is, a.l % 2 == 0);
				equal(a.f, a.l / 2f);
				equal(a.d, -a.l / 3.0);
				equal(a.inner.name[0], a.b);
				last = a.u;
				n++;
			}
			equal(n, 300);
			for (String key : new String[] {"none", "l,", "-", "inner"})
				thrown(ExtmemException.Usage.class, () -> Order.of(ctx, type, key));
		}
		thrown(ExtmemException.Usage.class, () -> Type.of(Bad.class));
		thrown(ExtmemException.Usage.class, () -> Type.of(None.class));
		thrown(ExtmemException.Usage.class, () -> Type.bytes(0));
		thrown(ExtmemException.Usage.class, () -> Type.U32.encode(-1L));
		thrown(ExtmemException.Usage.class, () -> Type.U32.encode(1L << 32));
		thrown(ExtmemException.Usage.class, () -> Type.U8.encode(256));
		thrown(ExtmemException.Usage.class, () -> Type.bytes(2).encode(new byte[3]));
		equal(Type.U32.decode(Type.U32.encode(0xffffffffL)), 0xffffffffL);
		equal(Type.U16.decode(Type.U16.encode(0xffff)), 0xffff);
	}

	static void optionsAndErrors(Path dir) {
		try (Context ctx = context(dir); Order<Long> order = Order.of(ctx, Type.U64)) {
			int kept = Native.kept();
			for (Options opts : List.of(Options.of("nothing", 1), Options.of("memory", "much"),
				     Options.of("memory", new Object()), Options.of("memory", "1\0"),
				     Options.of("run_records", "99999999999999999999"))) {
				opts.progress((phase, done, total) -> false);
				ExtmemException e =
					thrown(ExtmemException.Usage.class, () -> new Sorter<>(order, opts));
				equal(e.statusName(), "EM_ERR_INVAL");
			}
			thrown(ExtmemException.Usage.class, () -> new Sorter<>(order, Options.of("progress", 1)));
			thrown(ExtmemException.Usage.class, () -> new Context(Options.of("log", 1)));
			thrown(ExtmemException.Usage.class, () -> new Context(Options.of("priority", "x")));
			equal(Native.kept(), kept);
			thrown(ExtmemException.Usage.class, () -> Order.lines(ctx, "-x"));
			Path none = Path.of(URI.create(dir.toUri() + "%C3%A4"));
			ExtmemException lost = thrown(ExtmemException.NotFound.class,
				() -> new Vector<>(ctx, Type.U64, Options.of("path", none)));
			equal(lost.path().endsWith("/\u00e4"), true);
			thrown(ExtmemException.Usage.class, () -> new Sorter<>(Order.lines(ctx, "")));
			thrown(ExtmemException.Usage.class, () -> new PriorityQueue<>(Order.lines(ctx, ""), null));
			Error mine = new Error();
			Order<Long> bad = Order.comparing(ctx, Type.U64, (x, y) -> { throw mine; });
			Runnable compare = () -> RawJNI.em_order_compare(bad.id, new byte[8], new byte[8]);
			equal(thrown(Error.class, compare) == mine, true);
			bad.close();
			thrown(ExtmemException.Usage.class, () -> Order.lines(ctx, "-t ab"));
			try (Vector<Long> v = new Vector<>(ctx, Type.U64, null)) {
				ExtmemException e = thrown(ExtmemException.class, () -> v.get(3));
				equal(e.statusName(), "EM_ERR_RANGE");
				equal(e.status(), RawConstants.EM_ERR_RANGE);
			}
			// A handle of another kind, and numbers that are none.
			for (long id : new long[] {0, -1, ctx.id, Long.MAX_VALUE})
				equal(RawJNI.em_stack_pop(id) instanceof ExtmemException.Usage, true);
			equal(RawJNI.em_sorter_push(order.id, "text") instanceof ExtmemException.Usage, true);
			equal(RawJNI.em_ctx_open(new Object[1]) instanceof ExtmemException.Usage, true);
			thrown(ExtmemException.State.class, () -> {
				((Handle)order).close();
				order.name();
			});
		}
		Path disk = dir.resolve("disk");
		try (Context ctx = new Context(Options.of("memory", "8M").set("disks",
				List.of(Options.of("path", disk).set("capacity", "16M"), Options.of("path", dir))));
			Sorter<Long> s = new Sorter<>(ctx, Type.U64, Options.of("run_records", 10000))) {
			s.pushMany(Scenarios.noise(100000));
			s.finish();
		}
		equal(Context.version().matches("[0-9]+[.][0-9]+[.][0-9]+.*"), true);
	}

	static void files(Path dir) throws Exception {
		Path a = Path.of(URI.create(dir.toUri() + "%C3%A4%201"));
		Files.writeString(a, "b,2\na,10\nc,1\n");
		try (Context ctx = context(dir); Order<String> numeric = Order.lines(ctx, "-t, -k2,2nr");
			Order<String> plain = Order.lines(ctx, ""); Order<String> reverse = Order.lines(ctx, "-r")) {
			List<String> told = new ArrayList<>();
			Path b = dir.resolve("b"), c = dir.resolve("c"), d = dir.resolve("d"), e = dir.resolve("e");
			numeric.sortFiles(List.of(a), b, Options.of("memory", "8M").progress((phase, done, total) -> {
				told.add(phase);
				return false;
			}));
			List<String> wrong = new ArrayList<>();
			numeric.checkFile(
				b, null, (number, line) -> wrong.add(new String(line, StandardCharsets.UTF_8)));
			equal(wrong, List.of());
			reverse.checkFile(
				b, null, (number, line) -> wrong.add(new String(line, StandardCharsets.UTF_8)));
			equal(wrong.get(0), "b,2");
			Scenarios.Mine mine =
				thrown(Scenarios.Mine.class, () -> reverse.checkFile(b, null, (number, line) -> {
					throw Scenarios.<RuntimeException>sneaky(new Scenarios.Mine());
				}));
			equal(mine.getClass(), Scenarios.Mine.class);
			plain.mergeFiles(List.of(b, b), c, null);
			plain.uniqueFiles(List.of(c), d, Options.of("sort", Options.of("memory", "8M")));
			reverse.topFiles(List.of(c), 0, 2, e, null);
			equal(Files.readString(b), "a,10\nb,2\nc,1\n");
			equal(Files.readString(d), "a,10\nb,2\nc,1\n");
			equal(Files.readString(e), "c,1\nc,1\n");
			ctx.shuffleFiles(0, List.of(c), d, Options.of("seed", 3));
			equal(Files.readAllLines(d).stream().sorted().toList(),
				Files.readAllLines(c).stream().sorted().toList());
			equal(ctx.stats().startsWith("{\""), true);
			try (Sorter<Long> s = new Sorter<>(ctx, Type.U64)) {
				s.pushMany(new long[] {3, 1});
				s.writeFile(e);
				s.clear();
				s.pushFile(e);
				s.push(2L);
				equal(Scenarios.list(s), List.of(1L, 2L, 3L));
			}
		}
	}

	/** Functions of the caller's, and what becomes of what they throw. */
	static void functions(Path dir) {
		int before = Native.kept();
		try (Context ctx = context(dir)) {
			Order<Long> down = Order.ofKeys(ctx, Type.U64, (records, keys) -> {
				for (int i = 0; i < keys.length; i++)
					keys[i] = ~records.getLong();
			});
			try (Sorter<Long> s = new Sorter<>(down)) {
				s.pushMany(new long[] {1, 3, 2, -1});
				equal(Scenarios.list(s), List.of(-1L, 3L, 2L, 1L));
			}
			down.close();
			Order<Pair> compared =
				Order.comparing(ctx, Type.of(Pair.class), (x, y) -> Integer.compare(x.b, y.b));
			try (Sorter<Pair> s = new Sorter<>(compared)) {
				s.pushAll(List.of(new Pair(1, 9), new Pair(2, 8), new Pair(3, -1)));
				equal(Scenarios.list(s), List.of(new Pair(3, -1), new Pair(2, 8), new Pair(1, 9)));
			}
			compared.close();
			try (Sorter<Long> s = new Sorter<>(ctx, Type.U64,
				     Options.of("run_records", 1000).progress((phase, done, total) -> true))) {
				thrown(ExtmemException.Canceled.class, () -> {
					while (true)
						s.pushMany(Scenarios.noise(300000));
				});
			}
			try (Vector<Long> v = new Vector<>(ctx, Type.U64, null)) {
				v.pushAll(List.of(5L, 1L, 4L));
				v.mutate((at, records) -> {
					for (int i = 0; i < records.capacity(); i += 8)
						records.putLong(i, records.getLong(i) + 1);
				});
				equal(Scenarios.list(v), List.of(6L, 2L, 5L));
				equal(v.find(n -> n == 2), 1L);
				equal(v.find(n -> false), -1L);
				Error mine = new StackOverflowError();
				equal(thrown(Error.class, () -> v.mutate((at, records) -> { throw mine; })) == mine,
					true);
				equal(thrown(Error.class, () -> v.find(n -> { throw mine; })) == mine, true);
				// A function may use other objects, and what it fails with within them stays its own.
				equal(v.find(n -> {
					try (Stack<Long> inner = new Stack<>(ctx, Type.U64, null)) {
						inner.push(n);
						thrown(ExtmemException.class, () -> v.get(99));
						return inner.pop() == 5;
					}
				}),
					2L);
			}
		}
		List<String> lines = new ArrayList<>();
		try (Context ctx =
				new Context(Options.of("memory", "16M").set("dirs", List.of(dir)).log((level, line) -> {
					equal(Thread.currentThread().getName(), "main");
					lines.add(line);
					throw new IllegalArgumentException("lost");
				}));
			Sorter<Long> s = new Sorter<>(ctx, Type.U64)) {
			s.pushMany(Scenarios.noise(100));
			s.finish();
		}
		equal(lines.isEmpty(), false);
		thrown(ExtmemException.Usage.class, () -> new Context(Options.of("what", 1).log((level, line) -> {})));
		equal(Native.kept(), before);
	}

	record Pair(int a, int b) {}

	static void containers(Path dir) throws Exception {
		try (Context ctx = context(dir)) {
			Vector<Integer> v = new Vector<>(ctx, Type.I32, null);
			v.pushAll(List.of(5, -1, 4));
			v.sort(Order.of(ctx, Type.I32), null);
			equal(Scenarios.list(v), List.of(-1, 4, 5));
			equal(v.readMany(new long[] {2, 0}), List.of(5, -1));
			v.set(1, 7);
			ByteBuffer two = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder());
			v.read(1, two);
			equal(two.getInt(0) + two.getInt(4), 12);
			v.write(0, two.flip());
			equal(v.get(0), 7);
			v.export(dir.resolve("export"));
			equal(Files.size(dir.resolve("export")), 12L);
			Order<Integer> up = Order.of(ctx, Type.I32);
			v.writeAll(0, List.of(5, -1, 4));
			v.sort(up, null);
			List<Integer> sorted = Scenarios.list(v);
			equal(v.lowerBound(up, sorted.get(1)), 1L);
			equal(v.lowerBound(up, 1000), 3L);
			equal(v.count(n -> n >= 4), 2L);
			v.reverse();
			equal(v.get(0), sorted.get(2));
			equal(v.partition(n -> n < 5), 2L);
			equal(v.get(2), 5);
			v.shuffle(7, null);
			equal(Scenarios.list(v).stream().sorted().toList(), sorted);
			List<Integer> seen = new ArrayList<>();
			v.forEachMany((at, records) -> {
				while (records.hasRemaining())
					seen.add(records.getInt());
				records.putInt(0, 99);
			});
			equal(seen, Scenarios.list(v));
			v.fill(8);
			equal(Scenarios.list(v), List.of(8, 8, 8));
			v.resize(100000);
			equal(Scenarios.list(v).size(), 100000);

			Deque<Byte> d = new Deque<>(ctx, Type.I8, null);
			d.pushBackAll(List.of((byte)1, (byte)2));
			d.pushFront((byte)-1);
			equal(d.popBack(), (byte)2);
			equal(d.front(), (byte)-1);
			equal(Scenarios.list(d), List.of((byte)-1, (byte)1));
			d.clear();
			equal(d.popFront(), null);

			Stack<Integer> st = new Stack<>(ctx, Type.U16, null);
			st.pushAll(List.of(1, 2, 65535));
			equal(st.peek(), 65535);
			equal(st.popMany(2).size(), 2);
			equal(st.popMany(9), List.of(1));
			equal(st.popMany(9), List.of());
			equal(st.pop(), null);
			Queue<Double> q = new Queue<>(ctx, Type.F64, null);
			ByteBuffer some = ByteBuffer.allocate(24).order(ByteOrder.nativeOrder());
			some.putDouble(0.5).putDouble(1.5).flip();
			q.pushMany(some);
			q.push(2.5);
			ByteBuffer room = ByteBuffer.allocate(20).order(ByteOrder.nativeOrder());
			equal(q.popMany(room), 2);
			equal(room.getDouble(8), 1.5);
			equal(Scenarios.list(q), List.of(2.5));
			equal(q.isEmpty(), true);

			PriorityQueue<Long> pq = new PriorityQueue<>(ctx, Type.U64, null);
			pq.pushAll(List.of(4L, 2L, -1L));
			equal(pq.pushPop(3L), 2L);
			equal(pq.popUntil(4L, false, 9), List.of(3L));
			equal(pq.popUntil(4L, true, 9), List.of(4L));
			equal(pq.replace(6L), -1L);
			equal(Scenarios.list(pq), List.of(6L));
			equal(pq.replace(6L), null);
			equal(pq.size(), 0L);
			equal(pq.stats().startsWith("{\""), true);
			RadixHeap<Timed> radix = new RadixHeap<>(ctx, Type.of(Timed.class), "at", null);
			radix.pushAll(List.of(new Timed(-1, 2.5f), new Timed(-2, 0.5f)));
			equal(radix.pop(), new Timed(-2, 0.5f));
			long last = radix.last();
			equal(radix.pop(), new Timed(-1, 2.5f));
			equal(Long.compareUnsigned(radix.last(), last) > 0, true);
			for (String key : new String[] {"", "what", "none"})
				thrown(ExtmemException.Usage.class,
					() -> new RadixHeap<>(ctx, Type.of(Timed.class), key, null));
			thrown(ExtmemException.Usage.class, () -> new Stack<>(ctx, Type.of(Bad.class), null));
		}
	}

	record Timed(int what, float at) {}

	private static <T> void pushed(Sink<T> k, List<T> records) {
		try (k) {
			k.pushAll(records);
			k.finish();
			equal(k.count(), (long)records.size());
			thrown(ExtmemException.State.class, () -> k.pushAll(records));
		}
	}

	/** Containers, sorters and functions as sources and sinks, closed in any order. */
	static void sourcesAndSinks(Path dir) {
		List<Long> three = List.of(3L, 1L, 2L);
		try (Context ctx = context(dir);
			Vector<Long> v = new Vector<>(ctx, Type.U64, null);
			Deque<Long> d = new Deque<>(ctx, Type.U64, null);
			Stack<Long> st = new Stack<>(ctx, Type.U64, null);
			Sorter<Long> s = new Sorter<>(ctx, Type.U64);
			BTree<Long, Long> tree = BTree.create(ctx, Type.U64, Type.U64, "", null)) {
			PriorityQueue<Long> pq = new PriorityQueue<>(ctx, Type.U64, null);
			Queue<Long> q = new Queue<>(ctx, Type.U64, null);
			for (Sink<Long> k : List.of(v.sink(0), d.sink(), st.sink(), s.sink(), pq.sink()))
				pushed(k, three);
			tree.putAll(Map.of(1L, 10L, 2L, 20L));
			equal(Scenarios.list(v.stream(1, Stream.UNKNOWN)), List.of(1L, 2L));
			equal(Scenarios.list(d.stream(0, 2)), List.of(3L, 1L));
			equal(Scenarios.list(st.stream()), List.of(2L, 1L, 3L));
			equal(Scenarios.list(s.stream()), List.of(1L, 2L, 3L));
			equal(Scenarios.list(tree.stream(2L, null, Type.of(Counted.class))),
				List.of(new Counted(2, 20)));
			thrown(ExtmemException.Usage.class, () -> tree.stream(null, null, Type.U64));

			// What a stream is on is closed behind it, and what it leads to, too.
			Sink<Long> k = q.sink();
			try (Stream<Long> some = pq.stream().split(n -> (int)(n / 3), List.of(k))) {
				for (Handle h : List.of(pq, k, q)) {
					h.close();
					equal(h.isClosed(), true);
				}
				thrown(ExtmemException.State.class, () -> k.push(1L));
				thrown(ExtmemException.State.class, pq::stream);
				equal(Scenarios.list(some), List.of(1L, 2L));
				equal(some.graph().contains("\"phases\":1,"), true);
			}
			List<Long> got = new ArrayList<>();
			Sink<Long> f = Sink.of(ctx, Type.U64, got::addAll, () -> got.add(99L));
			equal(v.stream(0, 2).to(f), 2L);
			f.finish();
			equal(got, List.of(3L, 1L, 99L));
			f.close();
			IllegalStateException mine = new IllegalStateException();
			Sink<Long> broken = Sink.of(ctx, Type.U64, some -> { throw mine; }, null);
			equal(thrown(IllegalStateException.class, () -> broken.push(1L)) == mine, true);
			thrown(ExtmemException.Callback.class, () -> broken.push(1L));
			broken.close();
			Options zero = Options.of("delimiter", 0);
			pushed(Sink.ofLines(ctx, dir.resolve("zero"), zero), List.of("b", "a\nc", "\u20ac"));
			equal(Scenarios.list(Stream.ofLines(ctx, List.of(dir.resolve("zero")), zero)),
				List.of("b", "a\nc", "\u20ac"));
			thrown(ExtmemException.Usage.class,
				() -> Stream.ofLines(ctx, List.of(dir.resolve("zero")), zero)
				.join(Stream.Join.INNER, Stream.ofLines(ctx, List.of(dir.resolve("zero")), zero),
					"", "", "ab"));
			pushed(Sink.discard(ctx, Type.U64), three);
			pushed(Sink.ofFile(ctx, Type.U64, dir.resolve("file")), three);
			equal(Scenarios.list(Stream.ofFiles(ctx, Type.U64, List.of(dir.resolve("file")))), three);
		}
	}

	/** Runs in a loop, fed by streams and sinks; with two functions, which are forgotten. */
	static void runs(Path dir) throws InterruptedException {
		long[] all = Scenarios.noise(100000), want = sortedUnsigned(all);
		List<Long> told = new ArrayList<>();
		int kept = Native.kept();
		try (Context ctx = context(dir); Order<Long> order = Order.of(ctx, Type.U64)) {
			Options form = Options.of("memory", "1M").set("block_bytes", 4096);
			form.progress((phase, done, total) -> !told.add(done));
			Options opts = Options.of("form", form).set("merge_memory", "4M");
			Runs<Long> r = new Runs<>(order, (sum, more) -> sum, opts);
			for (int round = 0; round < 2; round++) {
				Iterator<Long> records = Arrays.stream(all).boxed().iterator();
				try (Stream<Long> in = Stream.of(ctx, Type.U64, records)) {
					r.feed(in, false);
				}
				try (Sink<Long> k = r.sink(true, true)) {
					k.pushMany(Arrays.copyOf(want, 1000));
					k.finish();
				}
				r.finish();
				equal(r.info().contains("\"pushed\":101000,"), true);
				try (Stream<Long> s = r.merge(want[1000], want[2000], 10, 100, 0)) {
					equal(Scenarios.list(s), Arrays.stream(want, 1010, 1110).boxed().toList());
				}
				try (Stream<Long> s = r.merge(null, null, 0, 0, 0)) {
					equal(Scenarios.list(s), List.of());
				}
				Stream<Long> half = r.merge();
				equal(half.iterator().next(), want[0]);
				if (round > 0)
					break;
				thrown(ExtmemException.State.class, r::clear);
				half.close();
				r.clear();
			}
			// Closed with a merge on it, which nobody has any more.
			r.close();
			for (int i = 0; i < 1000 && Native.kept() > kept; i++) {
				System.gc();
				Thread.sleep(5);
			}
			equal(Native.kept(), kept);
		}
	}

	/** A tree by a function, many entries at a time. */
	static void treeVisits(Path dir) {
		try (Context ctx = context(dir);
			BTree<Integer, Double> tree =
				BTree.create(ctx, Type.I32, Type.F64, "", Options.of("leaf_bytes", 4096))) {
			for (int i = 0; i < 1000; i++)
				tree.put(2 * i, i / 2.0);
			Integer[][] ranges = {{null, null}, {101, 1501}, {null, 600}, {1200, null}, {7, 7}};
			for (Integer[] range : ranges) {
				List<Map.Entry<Integer, Double>> seen = new ArrayList<>();
				List<Long> places = new ArrayList<>();
				tree.forEachMany(range[0], range[1], (at, entries) -> {
					equal(at, (long)seen.size());
					places.add(at);
					while (entries.hasRemaining())
						seen.add(Map.entry(entries.getInt(), entries.getDouble()));
					entries.putInt(0, 99);
				});
				equal(seen, Scenarios.list(tree.range(range[0], range[1])));
				if (range == ranges[0])
					equal(places.size() > 1, true);
			}
			equal(tree.size(), 1000L);
			thrown(IllegalArgumentException.class, () -> tree.forEachMany(5, null, (at, entries) -> {
				throw new IllegalArgumentException("mine");
			}));
		}
	}

	/** A range of a tree by a function: its keys; null: no bound. */
	private static List<Integer> keysBetween(BTree<Integer, Double> tree, Integer from, Integer to) {
		List<Integer> keys = new ArrayList<>();
		tree.range(from, to).forEach(entry -> keys.add(entry.getKey()));
		return keys;
	}

	/** Many ranges of a tree by one call: out of order, overlapping, empty, and with one end for all. */
	static void treeRanges(Path dir) {
		try (Context ctx = context(dir);
			BTree<Integer, Double> tree =
				BTree.create(ctx, Type.I32, Type.F64, "", Options.of("leaf_bytes", 4096))) {
			for (int i = 0; i < 1000; i++)
				tree.put(2 * i, i / 2.0);
			List<Integer> from = List.of(1201, 101, 400, 7), to = List.of(1900, 1501, 400, 8);
			List<List<List<Integer>>> all = new ArrayList<>();
			all.add(List.of(from, to));
			all.add(Arrays.asList(from, null));
			all.add(Arrays.asList(null, to));
			all.add(List.of(List.of(), List.of()));
			for (List<List<Integer>> ends : all) {
				List<Integer> begins = ends.get(0), stops = ends.get(1);
				int n = (begins == null ? stops : begins).size();
				List<List<Integer>> seen = new ArrayList<>(), wanted = new ArrayList<>();
				for (int i = 0; i < n; i++) {
					seen.add(new ArrayList<>());
					wanted.add(keysBetween(tree, begins == null ? null : begins.get(i),
						stops == null ? null : stops.get(i)));
				}
				tree.forEachRange(begins, stops, (i, entries) -> {
					while (entries.hasRemaining()) {
						int key = entries.getInt();
						equal(entries.getDouble(), key / 4.0);
						seen.get((int)i).add(key);
					}
				});
				equal(seen, wanted);
			}
			String said = thrown(ExtmemException.Usage.class,
				() -> tree.forEachRange(from, List.of(1, 2), (i, entries) -> equal(true, false)))
				.getMessage();
			equal(said.contains("4 ranges") && said.contains("2 end"), true);
			thrown(ExtmemException.Usage.class, () -> tree.forEachRange(null, null, (i, entries) -> { }));
			thrown(IllegalArgumentException.class, () -> tree.forEachRange(from, to, (i, entries) -> {
				throw new IllegalArgumentException("mine");
			}));
		}
	}

	/** A tree against a map, saved, opened, loaded. */
	static void trees(Path dir) {
		TreeMap<Integer, Double> model = new TreeMap<>();
		long seed = System.nanoTime();
		java.util.Random random = new java.util.Random(seed);
		System.out.println("seed " + seed);
		try (Context ctx = context(dir);
			BTree<Integer, Double> tree = BTree.create(ctx, Type.I32, Type.F64, "", null)) {
			for (int i = 0; i < 5000; i++) {
				int key = random.nextInt(2000) - 1000;
				if (random.nextInt(3) > 0) {
					tree.put(key, i / 2.0);
					model.put(key, i / 2.0);
				} else {
					equal(tree.remove(key), model.remove(key) != null);
				}
				int other = random.nextInt(2000) - 1000;
				equal(tree.get(other), model.get(other));
			}
			equal(tree.size(), (long)model.size());
			equal(Scenarios.list(tree), new ArrayList<>(model.entrySet()));
			equal(Scenarios.list(tree.range(-100, 300)),
				new ArrayList<>(model.subMap(-100, 300).entrySet()));
			equal(tree.count(-100, 300), (long)model.subMap(-100, true, 300, true).size());
			equal(tree.removeRange(null, -500), (long)model.headMap(-500).size());
			model.headMap(-500).clear();
			equal(tree.first(), model.firstEntry());
			BTree<Integer, Double>.Cursor cursor = tree.cursor();
			equal(cursor.get(), null);
			equal(cursor.seek(100, BTree.Where.LT), model.lowerEntry(100));
			equal(cursor.next(), model.ceilingEntry(100));
			equal(cursor.previous(), model.lowerEntry(100));
			equal(cursor.seek(100, BTree.Where.GT), model.higherEntry(100));
			equal(cursor.seek(null, BTree.Where.LE), model.lastEntry());
			equal(cursor.remove(), true);
			equal(cursor.remove(), false);
			model.pollLastEntry();
			equal(tree.popFirst(), model.pollFirstEntry());
			equal(tree.popLast(), model.pollLastEntry());
			cursor.close();
			thrown(ExtmemException.State.class, cursor::next);
			Map<Integer, Double> more = Map.of(2000, 1.0, 2001, 2.0, -499, 3.0);
			tree.putAll(more);
			model.putAll(more);
			equal(tree.getMany(List.of(2001, 5000, -499)), Arrays.asList(2.0, null, 3.0));
			tree.save(dir.resolve("tree"));
			try (BTree<Integer, Double> again =
					BTree.open(ctx, dir.resolve("tree"), Type.I32, Type.F64, "", null)) {
				again.verify();
				equal(Scenarios.list(again), new ArrayList<>(model.entrySet()));
				equal(again.last(), model.lastEntry());
				thrown(ExtmemException.class, () -> again.put(1, 1.0));
			}
			tree.clear();
			try (Sorter<byte[]> s = tree.sorter(null)) {
				for (int i = 1000; i > 0; i--)
					s.push(tree.entry(i, i * 0.5));
				s.finish();
				tree.load(s);
			}
			equal(tree.size(), 1000L);
			equal(tree.last(), Map.entry(1000, 500.0));
			// An iterator does not go on when its tree is closed.
			java.util.Iterator<Map.Entry<Integer, Double>> i = tree.iterator();
			i.next();
			((Handle)tree).close();
			thrown(ExtmemException.State.class, i::next);
		}
	}

	private static void stacks(Context ctx, int n) {
		for (int i = 0; i < n; i++)
			new Stack<>(ctx, Type.U64, null).push(1L);
	}

	/** What nobody has is closed, in any order, and what is closed leaves nothing. */
	static void collected(Path dir) throws Exception {
		try (Context ctx = context(dir)) {
			long before = ctx.memoryUsed();
			stacks(ctx, 4);
			equal(ctx.memoryUsed() > before, true);
			for (int i = 0; i < 1000 && ctx.memoryUsed() > before; i++) {
				System.gc();
				Thread.sleep(5);
			}
			equal(ctx.memoryUsed(), before);
			int kept = Native.kept();
			for (int i = 0; i < 20000; i++)
				Order.ofKeys(ctx, Type.U64, (records, keys) -> {}).close();
			equal(ctx.memoryUsed(), before);
			equal(Native.kept(), kept);
		}
		// A context and all that is in it at once, while another thread collects.
		for (int i = 0; i < 20; i++) {
			Context ctx = context(dir);
			BTree<Long, Long> tree = BTree.create(ctx, Type.U64, Type.U64, "", null);
			tree.put(1L, 2L);
			equal(tree.iterator().next().getValue(), 2L);
			stacks(ctx, 1);
			if (i % 2 == 0)
				ctx.close();
			System.gc();
		}
	}

	/** What was dropped makes room for what is made. */
	static void dropped(Path dir) {
		try (Context ctx = new Context(Options.of("memory", "8M").set("dirs", List.of(dir)))) {
			for (int i = 0; i < 1000; i++) {
				new Sorter<>(ctx, Type.U64, Options.of("memory", "1M"));
				new Vector<>(ctx, Type.U64, null);
				BTree.create(ctx, Type.U64, Type.U64, "", null);
			}
		}
	}

	/** A function of an order that fails when progress is due is what the object says. */
	static void failsLate(Path dir) {
		IllegalStateException mine = new IllegalStateException();
		try (Context ctx = context(dir); Order<Long> order = Order.ofKeys(ctx, Type.U64, (records, keys) -> {
				try {
					Thread.sleep(300);
				} catch (InterruptedException e) {
					throw new AssertionError(e);
				}
				throw mine;
			});
			Sorter<Long> s = new Sorter<>(order, Options.of("run_records", 1000)
				.set("progress", (Options.Progress)(phase, done, total) -> false))) {
			equal(thrown(IllegalStateException.class, () -> {
				s.pushMany(Scenarios.noise(300000));
				s.finish();
			}), mine);
			equal(thrown(ExtmemException.class, () -> s.push(1L)).statusName(), "EM_ERR_USER");
		}
	}

	/** An object that two threads use says so, and nothing crashes; with objects of their own they work. */
	static void threads(Path dir) throws Exception {
		AtomicReference<Throwable> failure = new AtomicReference<>();
		try (Context ctx = context(dir)) {
			Order<Long> keys =
				Order.ofKeys(ctx, Type.U64, (records, all) -> records.asLongBuffer().get(all));
			Sorter<Long> shared =
				new Sorter<>(ctx, Type.U64, Options.of("run_records", 1000).set("memory", "4M"));
			List<Thread> threads = new ArrayList<>();
			for (int t = 0; t < 3; t++) {
				Thread thread = new Thread(() -> {
					long[] data = Scenarios.noise(3000);
					try (Sorter<Long> s = new Sorter<>(keys, Options.of("memory", "4M"))) {
						s.pushMany(data);
						s.read(data);
						equal(Arrays.equals(data, sortedUnsigned(data)), true);
					} catch (Throwable e) {
						failure.compareAndSet(null, e);
					}
					try {
						for (int i = 0; i < 50; i++) {
							try {
								shared.pushMany(data);
							} catch (ExtmemException.Busy | ExtmemException.State |
								 ExtmemException.Canceled e) {
								// Of these it is one.
								equal(e.statusName().startsWith("EM_ERR_"), true);
							}
						}
						shared.close();
					} catch (Throwable e) {
						failure.compareAndSet(null, e);
					}
				});
				thread.start();
				threads.add(thread);
			}
			for (Thread thread : threads)
				thread.join();
			equal(shared.isClosed(), true);
			keys.close();
		}
		if (failure.get() != null)
			throw new AssertionError(failure.get());
	}

	/** Cancel from another thread. */
	static void canceled(Path dir) throws Exception {
		AtomicLong pushed = new AtomicLong();
		try (Context ctx = context(dir);
			Sorter<Long> s = new Sorter<>(ctx, Type.U64, Options.of("run_records", 1000))) {
			Thread thread = new Thread(() -> {
				while (pushed.get() < 100000)
					Thread.onSpinWait();
				s.cancel();
			});
			thread.start();
			thrown(ExtmemException.Canceled.class, () -> {
				for (long[] data = Scenarios.noise(10000);; pushed.addAndGet(data.length))
					s.pushMany(data);
			});
			thread.join();
		}
	}

	/** The jar has its library, a line that permits it, and what Maven wants. */
	static void jar(Path dir) throws Exception {
		Path file = Path.of(Context.class.getProtectionDomain().getCodeSource().getLocation().toURI());
		try (JarFile jar = new JarFile(file.toFile())) {
			equal(jar.getManifest().getMainAttributes().getValue("Enable-Native-Access"), "ALL-UNNAMED");
			equal(jar.stream().filter(e -> e.getName().matches("extmem/native/.*[.]so")).count(), 1L);
			try (InputStream pom =
					jar.getInputStream(jar.getEntry("META-INF/maven/extmem/extmem/pom.xml"))) {
				String version = Context.version();
				equal(new String(pom.readAllBytes(), StandardCharsets.UTF_8)
						.contains("<version>" + version),
					true);
			}
		}
	}
}
