// SPDX-License-Identifier: BSL-1.0
// A hundred thousand visits: sorted by page and time, the pages counted in a tree, the slowest ones by a heap.
//
//	java -cp extmem.jar Example.java
import extmem.BTree;
import extmem.Context;
import extmem.Options;
import extmem.Order;
import extmem.PriorityQueue;
import extmem.Sorter;
import extmem.Type;
import java.util.List;
import java.util.Map;
import java.util.Random;

public class Example {
	public record Visit(int page, int second, double took) {}

	public record Page(long visits, int last) {}

	public static void main(String[] args) {
		Type<Visit> visit = Type.of(Visit.class);
		Random random = new Random(1);
		long total = 0;

		try (Context ctx = new Context(
			     Options.of("memory", "32M").set("dirs", List.of(System.getProperty("java.io.tmpdir"))));
			Sorter<Visit> visits = new Sorter<>(ctx, visit);
			Order<Visit> slow = Order.of(ctx, visit, "-took");
			PriorityQueue<Visit> slowest = new PriorityQueue<>(slow, null);
			BTree<Integer, Page> pages = BTree.create(ctx, Type.I32, Type.of(Page.class), "", null)) {
			for (int second = 0; second < 100000; second++)
				visits.push(new Visit(
					random.nextInt(1000), second, -10 * Math.log(1 - random.nextDouble())));
			for (Visit v : visits) {
				Page known = pages.get(v.page());
				if (known != null && v.second() < known.last())
					throw new AssertionError("not sorted");
				pages.put(v.page(), new Page(known == null ? 1 : known.visits() + 1, v.second()));
				if (v.took() > 100)
					slowest.push(v);
			}
			for (Map.Entry<Integer, Page> e : pages)
				total += e.getValue().visits();
			System.out.print(pages.size() + " pages, the last five:");
			for (Map.Entry<Integer, Page> e : pages.range(995, null))
				System.out.print(" " + e.getKey());
			System.out.println(
				"\n" + slowest.size() + " slow visits, the slowest of page " + slowest.peek().page());
		}
		if (total != 100000)
			throw new AssertionError("visits were lost");
	}
}
