// SPDX-License-Identifier: BSL-1.0
package extmem;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** The scenarios that the tests of all languages run: bindings/scenarios.txt. */
final class Scenarios {
	static final class Mine extends Exception { private static final long serialVersionUID = 1; }

	record Pair(@Type.Unsigned long a, @Type.Unsigned long b) {}

	private final Context ctx;
	private final Path dir;
	private final String[] a;

	private Scenarios(Context ctx, Path dir, String[] a) {
		this.ctx = ctx;
		this.dir = dir;
		this.a = a;
	}

	static void equal(Object got, Object want) {
		if (!java.util.Objects.equals(got, want))
			throw new AssertionError(got + ", and not " + want);
	}

	/** What a call throws, which it must. */
	static <E extends Throwable> E thrown(Class<E> type, Runnable call) {
		try {
			call.run();
		} catch (Throwable e) {
			if (type.isInstance(e))
				return type.cast(e);
			throw new AssertionError("not the exception that was expected", e);
		}
		throw new AssertionError("nothing was thrown, and not " + type);
	}

	static <T> List<T> list(Iterable<T> all) {
		List<T> list = new ArrayList<>();
		all.forEach(list::add);
		return list;
	}

	/** Numbers of 64 bits, signed or not. */
	static List<Long> parse(String text) {
		List<Long> all = new ArrayList<>();
		if (text.equals("-"))
			return all;
		for (String word : text.split(" "))
			all.add(word.startsWith("-") ? Long.parseLong(word) : Long.parseUnsignedLong(word));
		return all;
	}

	static long[] noise(int n) { return new Random(1).longs(n).toArray(); }

	private static Type<Long> type(String spec) { return spec.equals("i64") ? Type.I64 : Type.U64; }

	private List<Long> sorted(Options opts) {
		if (a[0].equals("i32")) {
			try (Order<Integer> order = Order.of(ctx, Type.I32);
				Sorter<Integer> s = new Sorter<>(order, opts)) {
				for (long n : parse(a[1]))
					s.push((int)n);
				return list(s).stream().map(n -> (long)n).toList();
			}
		}
		try (Order<Long> order = Order.of(ctx, type(a[0])); Sorter<Long> s = new Sorter<>(order, opts)) {
			s.pushAll(parse(a[1]));
			return list(s);
		}
	}

	private List<Long> pairs() {
		List<Long> first = parse(a[1]), second = parse(a[2]);
		// The scenario names fields by offset.
		try (Order<Pair> order = Order.of(ctx, Type.of(Pair.class), a[0]);
			Sorter<Pair> s = new Sorter<>(order)) {
			for (int i = 0; i < first.size(); i++)
				s.push(new Pair(first.get(i), second.get(i)));
			List<Pair> got = list(s);
			equal(got.stream().map(Pair::a).toList(), parse(a[3]));
			return got.stream().map(Pair::b).toList();
		}
	}

	private List<Long> top() {
		try (Order<Long> order = Order.of(ctx, Type.U64);
			Top<Long> s = new Top<>(order, 0, parse(a[1]).get(0), null)) {
			s.pushAll(parse(a[2]));
			return list(s);
		}
	}

	private List<Long> lines() {
		try (Order<String> order = Order.lines(ctx, a[0]); Lines s = new Lines(order, null)) {
			s.pushAll(List.of(a[1].split("\\|")));
			equal(String.join("|", s), a[2]);
			return null;
		}
	}

	private List<Long> heap() {
		try (PriorityQueue<Long> q = new PriorityQueue<>(ctx, type(a[0]), null)) {
			for (long n : parse(a[1]))
				q.push(n);
			return list(q);
		}
	}

	private List<Long> radix() {
		try (RadixHeap<Long> h = new RadixHeap<>(ctx, Type.U64, ".", null)) {
			h.pushAll(parse(a[0]));
			return list(h);
		}
	}

	private List<Long> late() {
		try (RadixHeap<Long> h = new RadixHeap<>(ctx, Type.U64, ".", null)) {
			h.pushAll(parse(a[0]));
			for (long i = parse(a[1]).get(0); i > 0; i--)
				h.pop();
			h.push(parse(a[2]).get(0));
			return null;
		}
	}

	private List<Long> tree() {
		try (BTree<Long, Long> tree = BTree.create(ctx, Type.U64, Type.U64, "", null)) {
			for (long key : parse(a[0]))
				tree.put(key, 2 * key);
			for (long key : parse(a[1]))
				equal(tree.remove(key), true);
			List<Long> keys = new ArrayList<>();
			for (Map.Entry<Long, Long> e : tree) {
				equal(e.getValue(), 2 * e.getKey());
				keys.add(e.getKey());
			}
			return keys;
		}
	}

	private List<Long> range() {
		try (BTree<Long, Void> tree = BTree.create(ctx, Type.U64, null, "", null)) {
			for (long key : parse(a[0]))
				tree.put(key, null);
			return list(tree.range(parse(a[1]).get(0), parse(a[2]).get(0)))
				.stream()
				.map(Map.Entry::getKey)
				.toList();
		}
	}

	private List<Long> vector() throws Exception {
		Path path = dir.resolve("vector");
		try (Vector<Long> v =
				new Vector<>(ctx, Type.U64, Options.of("path", path).set("flags", Vector.CREATE))) {
			v.pushAll(parse(a[0]));
			v.flush(false);
		}
		ByteBuffer data = ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.LITTLE_ENDIAN);
		List<Long> all = new ArrayList<>();
		while (data.hasRemaining())
			all.add(data.getLong());
		return all;
	}

	@SuppressWarnings("unchecked")
	static <E extends Throwable> RuntimeException sneaky(Throwable e) throws E {
		throw(E) e;
	}

	private Order<Long> failing(Throwable mine) {
		return switch (a[0]) {
		case "key" -> Order.ofKeys(ctx, Type.U64, (records, keys) -> {
			throw Scenarios.<RuntimeException>sneaky(mine);
		});
		case "cmp" -> Order.comparing(ctx, Type.U64, (x, y) -> {
			throw Scenarios.<RuntimeException>sneaky(mine);
		});
		default -> Order.of(ctx, Type.U64);
		};
	}

	private List<Long> callback() {
		Mine mine = new Mine();
		Options opts = Options.of("run_records", 1000);
		if (a[0].equals("progress"))
			opts.progress((phase, done, total) -> { throw Scenarios.<RuntimeException>sneaky(mine); });
		try (Order<Long> order = failing(mine); Sorter<Long> s = new Sorter<>(order, opts)) {
			long[] data = noise(300000);
			Mine got = thrown(Mine.class, () -> {
				// Progress is told five times a second at least: so this goes on until that is so.
				do
					s.pushMany(data);
				while (a[0].equals("progress"));
				s.finish();
			});
			equal(got == mine, true);
			s.push(1L);
			return null;
		}
	}

	private List<Long> full() {
		try (Context small = new Context(Options.of("memory", "4M").set("scratch_max", a[0]));
			Sorter<Long> s = new Sorter<>(small, Type.U64)) {
			s.pushMany(noise(Integer.parseInt(a[1])));
			s.finish();
			return null;
		}
	}

	private List<Long> memory() {
		new Context(Options.of("memory", a[0])).close();
		return null;
	}

	private List<Long> closed() {
		Sorter<Long> s = new Sorter<>(ctx, Type.U64);
		Vector<Long> v = new Vector<>(ctx, Type.U64, null);
		BTree<Long, Long> tree = BTree.create(ctx, Type.U64, Type.U64, "", null);
		PriorityQueue<Long> q = new PriorityQueue<>(ctx, Type.U64, null);
		for (int i = 0; i < 2; i++) {
			for (Handle h : List.of(s, v, tree, q)) {
				h.close();
				equal(h.isClosed(), true);
			}
		}
		// What has no status tells it, too.
		List<Runnable> sizes = List.of(s::pushed, v::size, tree::size, q::size);
		for (Runnable size : sizes)
			thrown(ExtmemException.State.class, size);
		switch (a[0]) {
		case "sorter" -> s.push(1L);
		case "vector" -> v.push(1L);
		case "tree" -> tree.get(1L);
		default -> q.push(1L);
		}
		return null;
	}

	private List<Long> misorder() {
		try (Sorter<Long> s = new Sorter<>(ctx, Type.U64)) {
			s.pushAll(parse(a[0]));
			thrown(ExtmemException.State.class, () -> s.next(new byte[8]));
			return list(s);
		}
	}

	private List<Long> reentry() {
		List<Sorter<Long>> self = new ArrayList<>();
		List<ExtmemException> inner = new ArrayList<>();
		Options opts = Options.of("run_records", 1000).progress((phase, done, total) -> {
			inner.add(thrown(ExtmemException.class, () -> self.get(0).push(1L)));
			return false;
		});
		try (Sorter<Long> s = new Sorter<>(Order.of(ctx, Type.U64), opts)) {
			self.add(s);
			while (inner.isEmpty())
				s.pushMany(noise(300000));
			throw inner.get(0);
		}
	}

	private List<Long> batch() {
		List<Long> want = parse(a[0]), got;
		byte[] room = new byte[8 * want.size()];
		try (Sorter<Long> s = new Sorter<>(ctx, Type.U64)) {
			s.pushAll(want);
			equal(s.read(room), want.size());
			equal(s.read(new byte[8]), -1);
		}
		// A copy.
		got = Type.U64.decodeAll(room);
		Collections.sort(want);
		equal(got, want);
		return null;
	}

	/** What loops have seen that are left at the first and at the second record, and what another one sees. */
	private static <T, S extends Handle & Iterable<T>> List<T> left(S all, List<T> seen) {
		for (int stop = 1; stop <= 2; stop++) {
			int n = 0;
			for (T one : all) {
				seen.add(one);
				if (++n == stop)
					break;
			}
			// As a call does: what the loop has not come to is given back.
			all.id();
		}
		all.forEach(seen::add);
		return seen;
	}

	private List<Long> leave() {
		List<Long> seen = new ArrayList<>();
		try (Order<Long> order = Order.of(ctx, Type.U64);
			Stream<Long> stream = streamed(a[1]);
			Top<Long> top = new Top<>(order, 0, 100, null);
			Sorter<Long> s = new Sorter<>(order, null)) {
			if (a[0].equals("stream"))
				return left(stream, seen);
			top.pushAll(parse(a[1]));
			if (a[0].equals("top"))
				return left(top, seen);
			s.pushAll(parse(a[1]));
			seen.add(s.iterator().next());
			long[] room = new long[1];
			equal(s.read(room), 1);
			seen.add(room[0]);
			return left(s, seen);
		}
	}

	private List<Long> lineleave() {
		try (Order<String> order = Order.lines(ctx, ""); Lines s = new Lines(order, null)) {
			s.pushAll(Arrays.asList(a[0].split("\\|")));
			equal(String.join("|", left(s, new ArrayList<>())), a[1]);
			return null;
		}
	}

	private List<Long> missing() {
		try (Order<String> order = Order.lines(ctx, "")) {
			order.sortFiles(List.of(dir.resolve(a[0])), dir.resolve("out"), null);
			return null;
		} catch (ExtmemException.NotFound e) {
			equal(e.path(), dir.resolve(a[0]).toString());
			equal(e.errno() != 0, true);
			throw e;
		}
	}

	private Stream<Long> streamed(String text) { return Stream.of(ctx, Type.U64, parse(text).iterator()); }

	private List<Long> stream() {
		try (Order<Long> order = Order.of(ctx, Type.U64);
			Stream<Long> s = streamed(a[0]).map(Type.U64, n -> n + 1).sort(order, null).unique(order)) {
			return list(s);
		}
	}

	private List<Long> set() {
		try (Order<Long> order = Order.of(ctx, Type.U64);
			Stream<Long> s = streamed(a[1]).set(
				Stream.Operation.valueOf(a[0].toUpperCase()), streamed(a[2]), order)) {
			return list(s);
		}
	}

	private List<Long> broken() {
		IllegalStateException mine = new IllegalStateException();
		try (Stream<Long> s = streamed(a[0]).map(Type.U64, n -> { throw mine; })) {
			equal(thrown(IllegalStateException.class, s::next) == mine, true);
			s.next();
			return null;
		}
	}

	private Stream<Long> endless(Stream.Progress fn) {
		byte[] some = new byte[8 * Integer.parseInt(a[0])];
		return Stream.ofBatches(ctx, Type.U64, () -> some).progress(fn);
	}

	private static void pull(Stream<Long> s) {
		while (s.next() != null)
			;
	}

	private List<Long> told() {
		int some = Integer.parseInt(a[0]);
		try (Stream<Long> s = endless((phase, done, total) -> phase == 1 && done % some == 0 && total == 0)) {
			thrown(ExtmemException.Canceled.class, () -> pull(s));
		}
		IllegalStateException mine = new IllegalStateException();
		try (Stream<Long> s = endless((phase, done, total) -> { throw mine; })) {
			equal(thrown(IllegalStateException.class, () -> pull(s)) == mine, true);
			s.next();
			return null;
		}
	}

	private List<Long> split() {
		try (Queue<Long> q = new Queue<>(ctx, Type.U64, null);
			Sink<Long> odd = q.sink();
			Stream<Long> s = streamed(a[0]).split(n -> (int)(n % 2), List.of(odd))) {
			List<Long> all = list(s);
			odd.finish();
			all.addAll(list(q));
			return all;
		}
	}

	private Runs<Long> formed(String pushed, String sorted) {
		try (Order<Long> order = Order.of(ctx, Type.U64)) {
			Runs<Long> r = new Runs<>(order, null);
			r.pushAll(parse(pushed));
			r.append(Type.U64.encodeAll(parse(sorted)));
			r.finish();
			return r;
		}
	}

	private static Long bound(String text, Long none) { return text.equals("-") ? none : parse(text).get(0); }

	private List<Long> runs() {
		try (Runs<Long> r = formed(a[0], a[1]);
			Stream<Long> s = r.merge(bound(a[2], null), bound(a[3], null), bound(a[4], 0L),
				bound(a[5], Stream.UNKNOWN), 0)) {
			return list(s);
		}
	}

	private List<Long> twice() {
		Runs<Long> r = formed(a[0], "-");
		try (Stream<Long> first = r.merge().batch(1); Stream<Long> second = r.merge().batch(1)) {
			r.close();
			equal(r.isClosed(), true);
			List<Long> all = new ArrayList<>();
			for (long n : first) {
				all.add(n);
				all.addAll(Type.U64.decodeAll(second.next()));
			}
			return all;
		}
	}

	private List<Long> early() {
		try (Order<Long> order = Order.of(ctx, Type.U64);
			Runs<Long> r = new Runs<>(order, null);
			Stream<Long> s = r.merge()) {
			r.pushAll(parse(a[0]));
			thrown(ExtmemException.State.class, s::next);
			r.finish();
			return list(s);
		}
	}

	private static Pair add(Pair sum, Pair more) { return new Pair(sum.a, sum.b + more.b); }

	private List<Pair> counted() {
		List<Long> counts = parse(a[1]);
		List<Pair> all = new ArrayList<>();
		for (long n : parse(a[0]))
			all.add(new Pair(n, counts.get(all.size())));
		return all;
	}

	private static List<Long> flat(Stream<Pair> s) {
		List<Long> all = new ArrayList<>();
		for (Pair p : s)
			all.addAll(List.of(p.a, p.b));
		return all;
	}

	private List<Long> combine() {
		try (Order<Pair> order = Order.of(ctx, Type.of(Pair.class), "a");
			Runs<Pair> r = new Runs<>(order, Scenarios::add, null)) {
			r.pushAll(counted());
			r.finish();
			try (Stream<Pair> s = r.merge()) {
				return flat(s);
			}
		}
	}

	private List<Long> totals() {
		Type<Pair> type = Type.of(Pair.class);
		try (Order<Pair> order = Order.of(ctx, type, "a");
			Stream<Pair> s =
				Stream.of(ctx, type, counted().iterator()).sortReduce(order, null, Scenarios::add)) {
			return flat(s);
		}
	}

	private List<Long> sour() {
		Mine mine = new Mine();
		try (Order<Long> order = Order.of(ctx, Type.U64);
			Runs<Long> r = new Runs<>(order,
				(sum, more) -> { throw Scenarios.<RuntimeException>sneaky(mine); }, null)) {
			equal(thrown(Mine.class, () -> {
				r.pushAll(parse(a[0]));
				r.finish();
			}) == mine, true);
			r.push(1L);
			return null;
		}
	}

	private Stream<String> lineFile(String text) throws Exception {
		Path path = Files.createTempFile(dir, "lines", "");
		Files.writeString(path, text.replace('|', '\n') + "\n");
		return Stream.ofLines(ctx, List.of(path), null);
	}

	private List<Long> text() throws Exception {
		try (Order<String> order = Order.lines(ctx, a[0]);
			Stream<String> s = lineFile(a[1]).filter(line -> !line.startsWith("#")).sort(order, null)) {
			equal(s.toFile(dir.resolve("out")), (long)a[2].split("\\|").length);
			equal(Files.readString(dir.resolve("out")), a[2].replace('|', '\n') + "\n");
			return null;
		}
	}

	private List<Long> lengths() throws Exception {
		try (Stream<Long> s = lineFile(a[0]).map(Type.U64, line -> (long)line.length())) {
			return list(s);
		}
	}

	/** The lines of streams are those that are expected. */
	@SafeVarargs
	private List<Long> told(Stream<String>... all) {
		List<String> lines = new ArrayList<>();
		for (Stream<String> s : all) {
			s.forEach(line -> lines.add(line.replace('\t', ':')));
			s.close();
		}
		equal(String.join("|", lines), a[a.length - 1]);
		return null;
	}

	private List<Long> linejoin() throws Exception {
		return told(lineFile(a[4]).join(Stream.Join.valueOf(a[0].toUpperCase()), lineFile(a[5]), a[1], a[2],
			a[3].equals("-") ? "" : a[3]));
	}

	private static String one(String line) { return line == null ? "-" : line; }

	private List<Long> linepairs() throws Exception {
		return told(lineFile(a[3]).join(Stream.Join.valueOf(a[0].toUpperCase()), lineFile(a[4]), a[1], a[2],
			Type.LINES, (x, y) -> one(x) + "+" + one(y)));
	}

	private List<Long> linesour() throws Exception {
		IllegalStateException mine = new IllegalStateException();
		try (Stream<String> s = lineFile(a[0]).join(Stream.Join.INNER, lineFile(a[0]), "", "", Type.LINES,
				 (x, y) -> { throw mine; })) {
			equal(thrown(IllegalStateException.class, () -> s.iterator().hasNext()) == mine, true);
			s.iterator().hasNext();
			return null;
		}
	}

	private List<Long> linetee() throws Exception {
		List<Stream<String>> two = lineFile(a[0]).tee(true);
		return told(two.get(0), two.get(1));
	}

	private List<Long> lineset() throws Exception {
		try (Order<String> order = Order.lines(ctx, "")) {
			return told(lineFile(a[1]).set(Stream.Operation.valueOf(a[0].toUpperCase()),
				lineFile(a[2]), order));
		}
	}

	private List<Long> linesum() throws Exception {
		try (Order<String> order = Order.lines(ctx, a[0])) {
			return told(lineFile(a[1]).reduce(order, (sum, line) -> sum + "+" + line));
		}
	}

	private List<Long> linewords() throws Exception {
		return told(lineFile(a[0]).flatMap(Type.LINES, line ->
			Arrays.stream(line.split(" ")).filter(word -> !word.isEmpty()).toList()));
	}

	private List<Long> linesplit() throws Exception {
		Path path = dir.resolve("sent");
		try (Sink<String> sent = Sink.ofLines(ctx, path, null)) {
			List<String> stays = new ArrayList<>();
			try (Stream<String> all = lineFile(a[0]);
				Stream<String> s = all.split(line -> line.startsWith("#") ? 1 : 0, List.of(sent))) {
				s.forEach(stays::add);
			}
			sent.finish();
			stays.addAll(Files.readAllLines(path));
			equal(String.join("|", stays), a[a.length - 1]);
			return null;
		}
	}

	private List<Long> linecount() throws Exception {
		try (Order<String> order = Order.lines(ctx, a[0])) {
			return told(lineFile(a[1]).merge(List.of(lineFile(a[2])), order)
				.uniqueCounted(order, Type.LINES));
		}
	}

	private List<Long> run(String kind) throws Exception {
		return switch (kind) {
		case "sort" -> sorted(null);
		case "sort2" -> pairs();
		case "unique" -> sorted(Options.of("flags", RawConstants.EM_SORT_UNIQUE));
		case "top" -> top();
		case "lines" -> lines();
		case "heap" -> heap();
		case "radix" -> radix();
		case "late" -> late();
		case "tree" -> tree();
		case "range" -> range();
		case "vector" -> vector();
		case "callback" -> callback();
		case "full" -> full();
		case "memory" -> memory();
		case "closed" -> closed();
		case "misorder" -> misorder();
		case "reentry" -> reentry();
		case "batch" -> batch();
		case "leave" -> leave();
		case "lineleave" -> lineleave();
		case "missing" -> missing();
		case "stream" -> stream();
		case "set" -> set();
		case "broken" -> broken();
		case "told" -> told();
		case "split" -> split();
		case "runs" -> runs();
		case "twice" -> twice();
		case "early" -> early();
		case "combine" -> combine();
		case "totals" -> totals();
		case "sour" -> sour();
		case "text" -> text();
		case "lengths" -> lengths();
		case "linejoin" -> linejoin();
		case "linepairs" -> linepairs();
		case "linesour" -> linesour();
		case "linetee" -> linetee();
		case "lineset" -> lineset();
		case "linesum" -> linesum();
		case "linewords" -> linewords();
		case "linesplit" -> linesplit();
		case "linecount" -> linecount();
		default -> throw new AssertionError("there is no scenario " + kind);
		};
	}

	static void check(String kind, String[] a, Path dir) throws Exception {
		String expected = a[a.length - 1];
		try (Context ctx = new Context(Options.of("memory", "16M").set("dirs", List.of(dir)))) {
			Scenarios s = new Scenarios(ctx, dir, a);
			if (expected.startsWith("!EM")) {
				try {
					s.run(kind);
				} catch (ExtmemException e) {
					equal(e.statusName(), expected.substring(1));
					return;
				}
				throw new AssertionError("nothing was thrown, and not " + expected);
			} else if (kind.startsWith("line") || kind.equals("text") || expected.equals("!")) {
				s.run(kind);
			} else {
				equal(s.run(kind), parse(expected));
			}
		}
	}
}
