# SPDX-License-Identifier: BSL-1.0
# A hundred thousand visits: sorted by page and time, the pages counted in a tree, the slowest ones by a heap.
use strict;
use warnings;
use Extmem;

my $ctx = Extmem::Context->new(memory => '32M');
my $visits = Extmem::Sorter->new('<IId', key => 'f0,f1', ctx => $ctx);         # page, second, milliseconds it took
$visits->push([map { [int rand 1000, $_, -10 * log(1 - rand)] } 1 .. 100_000]);

my $pages = Extmem::BTree->new('<I', '<QQ', ctx => $ctx);                      # page -> visits, last second
my $slowest = Extmem::PriorityQueue->new('<dI', key => '-f0', ctx => $ctx);
my ($page, $n) = (-1, 0);
my $next = $visits->each;
while (my $visit = $next->()) {
	($page, $n) = ($visit->[0], 0) if $visit->[0] != $page;
	$pages->put($page, [++$n, $visit->[1]]);
	$slowest->push([$visit->[2], $page]) if $visit->[2] > 60;
}
my ($sum, $all) = (0, $pages->each);
while (my ($key, $value) = $all->()) { $sum += $value->[0] }
die 'visits were lost' if $sum != 100_000;
my $last = $pages->each(998);
while (my ($key, $value) = $last->()) { print "page $key: $value->[0] visits, the last at $value->[1]\n" }
printf "%d slow visits, the slowest of page %d\n", $slowest->size, $slowest->top->[1];
