# SPDX-License-Identifier: BSL-1.0
# What is particular to Perl, or not in the scenarios.
use strict;
use warnings;
use Test::More;
use File::Temp;
use Extmem;

my $seed = $ENV{EXTMEM_TEST_SEED} // time;
diag("EXTMEM_TEST_SEED=$seed") if $ENV{EXTMEM_TEST_SEED};
srand $seed;
my $dir = File::Temp->newdir;
my $ctx = Extmem::Context->new(memory => '16M', dirs => ["$dir"]);
my @opts = (ctx => $ctx);
sub some { my ($n, $most) = @_; return map { int rand($most // 1e6) } 1 .. $n }
sub all { my ($it, @all) = shift; while (defined(my $x = $it->())) { push @all, $x } return \@all }
sub keys_of { my ($it, @all) = shift; while (my ($k) = $it->()) { push @all, $k } return \@all }
sub write_ {
	my ($name, $data) = @_;
	open my $f, '>:raw', "$dir/$name" or die;
	print $f $data;
	close $f;
	return "$dir/$name";
}
sub read_ { open my $f, '<:raw', "$dir/$_[0]" or die; local $/; return <$f> }
sub dies {
	my ($name, $code) = @_;
	is(eval { $code->(); 1 }, undef, 'dies');
	is(ref $@ ? $@->name : $@, $name);
	return $@;
}
sub refuses { my ($code, $what) = @_; is(eval { $code->(); 1 }, undef, $what // 'refused'); return }

subtest 'DESTROY closes' => sub {
	my $used = $ctx->memory_used;
	{ my $s = Extmem::Sorter->new('<Q', @opts); $s->push([2, 1]); cmp_ok($ctx->memory_used, '>', $used) }
	is($ctx->memory_used, $used);
};

subtest formats => sub {
	my $items = [[1, -2, 3.5, 'abc'], [255, -32768, -0.25, "x\0z"]];
	for my $format ('<Bhd3s', '>Bhd3s', '=B2xh d3s') {
		my $q = Extmem::Queue->new($format, @opts);
		$q->push_many($items);
		is_deeply($q->pop_many(9), $items, $format);
		is($q->pop, undef);
	}
	my $q = Extmem::Queue->new('<B', @opts);
	for my $bad (256, -1, 1.5, 'x', [], undef, 1e300) { refuses(sub { $q->push($bad) }) }
	is($q->size, 0);
	$q->push('7');
	is($q->pop, 7);
	$q = Extmem::Queue->new('>q', @opts);
	my @edge = (-9223372036854775808, 9223372036854775807, -1, 0);
	$q->push_many(\@edge);
	refuses(sub { $q->push(9223372036854775808) });
	is_deeply($q->items($q->pop_packed), \@edge);
	$q = Extmem::Queue->new('<Q', @opts);
	$q->push(18446744073709551615);
	$q->push('18446744073709551615');
	refuses(sub { $q->push('18446744073709551616') });
	is($q->pop . ' ' . $q->pop, '18446744073709551615 18446744073709551615');
	for my $bad ('', '<', 'Z', 'Q0B', '-1', '<Q|Q|Q') {
		refuses(sub { Extmem::Queue->new($bad, @opts) }, "format '$bad'");
	}
	$q = Extmem::Queue->new(2, @opts);
	refuses(sub { $q->push("\x{100}x") }, 'wide characters');
	my $latin = "\x{e9}x";
	utf8::upgrade($latin);
	$q->push($latin);
	is($q->pop, "\x{e9}x");
};

subtest 'sorting against sort' => sub {
	for my $n (0, 1, 2, 1000, 50000) {
		my @list = some($n);
		my @sorted = sort { $a <=> $b } @list;
		is_deeply(Extmem::sort(\@list, '<q', @opts, run_records => 7777), \@sorted);
		is(Extmem::sort(pack('q<*', @list), '<q', @opts), pack 'q<*', @sorted);
	}
	my @list = some(1000);
	is_deeply(Extmem::sort(\@list, '<q', @opts, key => sub { [map { 1e6 - $_ } @{$_[0]}] }),
		[sort { $b <=> $a } @list]);
	is_deeply(Extmem::sort(\@list, '<q', @opts, key => sub { pack 'Q*', @{$_[0]} }), [sort { $a <=> $b } @list]);
	is_deeply(Extmem::sort(\@list, '<q', @opts, cmp => sub { $_[0] <=> $_[1] }), [sort { $a <=> $b } @list]);
};

subtest 'functions that give nonsense, die, leave' => sub {
	for my $bad ([], [1], [1, 'x', 3], 'short', 5, undef, {}) {
		refuses(sub { Extmem::sort([3, 1, 2], '<Q', @opts, key => sub { $bad }) });
	}
	refuses(sub { Extmem::sort([3, 1, 2], '<Q', @opts, cmp => sub { 'x' }) });
	is(eval { Extmem::sort([3, 1, 2], '<Q', @opts, cmp => sub { die "mine\n" }); 1 }, undef);
	is($@, "mine\n");
	for my $leave (sub { no warnings; last }, sub { no warnings; next }, sub { goto OUT }) {
		for (1) { refuses(sub { Extmem::sort([3, 1, 2], '<Q', @opts, cmp => $leave) }) }
	}
	OUT: pass('not left');
	local $SIG{__DIE__} = sub { fail('a handler for others') if $_[0] =~ /never/ };
	my $perl = "$^X " . join ' ', map { "-I$_" } @INC;
	is(`$perl -MExtmem -e 'END { print "end" } Extmem::sort([3, 2, 1], "<Q", cmp => sub { exit 7 }); print "no"'`,
		'end');
	is($? >> 8, 7);
};

subtest 'a function that closes, forgets and calls' => sub {
	my $s = Extmem::Sorter->new('<Q', @opts, cmp => sub {
		Extmem::sort([2, 1], '<Q', @opts);
		return $_[0] <=> $_[1];
	});
	is_deeply([$s->push([3, 1, 2])->read], [1, 2, 3]);
	my $t;
	$t = Extmem::Sorter->new('<Q', @opts, cmp => sub { $t->close if $t; return $_[0] <=> $_[1] });
	refuses(sub { $t->push([2, 1])->read });
	ok($t->closed);
	my $u;
	$u = Extmem::Sorter->new('<Q', @opts, cmp => sub { undef $u; return $_[0] <=> $_[1] });
	my $pushed = $u->push([3, 2, 1]);
	undef $pushed;
	eval { $u->finish; $u->next_batch };
	ok(1, 'not crashed');
	# Data that changes while it is pushed.
	my $data = pack 'Q*', map { int rand 2**31 } 1 .. 200000;
	my $copy = $data;
	my $v = Extmem::Sorter->new('<Q', @opts, run_records => 1000,
		cmp => sub { $data = ''; return $_[0] <=> $_[1] });
	$v->push($data);
	is(length join('', map { pack 'Q', $_ } $v->read), length $copy);
	my $tree = Extmem::BTree->new('<Q', undef, @opts);
	{ package Closes; sub TIEHASH { bless {s => $_[1]}, $_[0] } sub FETCH { $_[0]{s}->close; undef }
		sub EXISTS { 1 } sub SCALAR { 0 }
		sub FIRSTKEY { 'fill' } sub NEXTKEY { } }
	tie my %opts, 'Closes', $s;
	refuses(sub { Extmem::core('em_btree_load_sorted', $tree->{handle}, $s->{handle}, \%opts) });
	ok($s->closed);
};

subtest 'freed in any order' => sub {
	for (1 .. 20) {
		my $own = Extmem::Context->new(memory => '4M');
		my $tree = Extmem::BTree->new('<Q', '<Q', ctx => $own);
		$tree->put(1, 2);
		my @objects = ($own, $tree, $tree->cursor,
			Extmem::Sorter->new('<Q', ctx => $own, progress => sub { 0 }),
			Extmem::Vector->new('<Q', ctx => $own), Extmem::PriorityQueue->new('<Q', ctx => $own));
		undef $own;
		undef $tree;
		splice @objects, rand @objects, 1 while @objects;
	}
	my $used = $ctx->memory_used;
	for (1 .. 5000) {
		my $s = Extmem::Sorter->new('<Q', @opts, progress => sub { 0 });
		$s->push([1]);
		eval { Extmem::Sorter->new('<Q', @opts, memory => 1) };
	}
	is($ctx->memory_used, $used);
	our $global = Extmem::BTree->new('<Q', undef, @opts);
	our $cursor = $global->cursor;
};

subtest errors => sub {
	my $e = dies('EM_ERR_NOENT', sub { Extmem::sort_file("$dir/none", "$dir/out", @opts) });
	is($e->path, "$dir/none");
	is($e->errno, 2);
	like("$e", qr/none.* at .*native\.t line \d+\.$/);
	write_('bad', 'x' x 12);
	dies('EM_ERR_FORMAT', sub { Extmem::sort_file("$dir/bad", "$dir/out", @opts, records => '<Q') });
	for my $bad ([nonsense => 1], [memory => 'much'], [memory => []], [flags => -1], [progress => 1]) {
		refuses(sub { Extmem::Sorter->new('<Q', @opts, @$bad) });
	}
	refuses(sub { Extmem::Sorter->new('<Q', @opts)->push('1234567') });
	dies('EM_ERR_RANGE', sub { Extmem::Sorter->new('<Q', @opts, key => 'u64le@1') });
	my $other = bless \(my $x = 5), 'Extmem::Other';
	refuses(sub { Extmem::core('em_sorter_finish', $_) }) for $ctx->{handle}, 5, undef, $other;
	refuses(sub { Extmem::core('em_sorter_finish') });
};

subtest files => sub {
	my @file = map { "$dir/$_" } 'a' .. 'g';
	write_('a', "b,2\na,10\nc,1\n");
	my $stats = Extmem::sort_file($file[0], $file[1], @opts, key => '-t, -k2,2n');
	is(read_('b'), "c,1\nb,2\na,10\n");
	is($stats->{records_in}, 3);
	is(ref $stats->{phases}{runs}, 'HASH');
	like($stats->{json}, qr/"records_in": 3/);
	Extmem::merge_files([@file[1, 1]], $file[2], @opts, key => '-t, -k2,2n');
	is(read_('c'), "c,1\nc,1\nb,2\nb,2\na,10\na,10\n");
	Extmem::unique_file($file[2], $file[3], @opts, count => 1);
	is(read_('d'), "2\ta,10\n2\tb,2\n2\tc,1\n");
	Extmem::top_file($file[0], $file[4], 1, @opts, start => 1);
	is(read_('e'), "b,2\n");
	Extmem::shuffle_file($file[0], $file[5], @opts, seed => 1);
	Extmem::sort_file($file[5], $file[5], @opts);
	is(read_('f'), "a,10\nb,2\nc,1\n");
	is(Extmem::check_file($file[0], @opts)->{first}, 'a,10');
	is(Extmem::check_file($file[5], @opts)->{first}, undef);
	write_('csv', qq(2,"x\ny"\n1,z\n));
	Extmem::sort_file("$dir/csv", "$dir/csv", @opts, key => '--csv -k1,1n');
	is(read_('csv'), qq(1,z\n2,"x\ny"\n));
	my $s = Extmem::Sorter->new('lines', @opts, key => '-r');
	$s->push_file($file[0]);
	$s->push(['zz']);
	$s->write_file($file[6]);
	is(read_('g'), "zz\nc,1\nb,2\na,10\n");
	$s->clear;
	is_deeply([$s->push(['y', '', 'x'])->read], ['y', 'x', '']);
};

subtest vector => sub {
	my @model = some(1000);
	my $v = Extmem::Vector->new('<I', @opts);
	is($v->push_many(\@model), 1000);
	is_deeply(all($v->each), \@model);
	$v->set(4, $model[4] = 7);
	$v->push($model[1000] = 8);
	is($v->get(4), 7);
	refuses(sub { $v->get(1001) });
	is_deeply($v->items($v->read(998)), [@model[998 .. 1000]]);
	is_deeply($v->read_many([4, 0, 1000]), [@model[4, 0, 1000]]);
	$v->write(1, [@model[1, 2] = (1, 2)]);
	is($v->find(sub { $_[0] == 2 }) <= 2, 1);
	is($v->find(sub { 0 }), undef);
	is($v->count(sub { 1 }), 1001);
	my @seen;
	$v->for_each(sub { my ($at, $items) = @_; is($at, @seen); push @seen, @$items });
	is_deeply(\@seen, \@model);
	$v->mutate(sub { [map { $_ + 1 } @{$_[1]}] });
	is($v->get(0), $model[0] + 1);
	$v->sort('-f0');
	is_deeply(all($v->each), [sort { $b <=> $a } map { $_ + 1 } @model]);
	$v->shuffle(3);
	$v->sort(undef, cmp => sub { $_[1] <=> $_[0] });
	$v->reverse;
	is_deeply(all($v->each), [sort { $a <=> $b } map { $_ + 1 } @model]);
	$v->clear;
	is($v->size, 0);
};

subtest 'deque, stack, queue' => sub {
	my ($d, @model) = Extmem::Deque->new('<q', @opts);
	for (1 .. 2000) {
		my ($what, $item) = (int rand 5, int rand 1000);
		if ($what == 0) { $d->push_front($item); unshift @model, $item }
		elsif ($what < 3) { $d->push_back($item); push @model, $item }
		else {
			my ($got, $wanted) = $what == 3 ? ($d->pop_front, shift @model) : ($d->pop_back, pop @model);
			is($got, $wanted);
		}
	}
	is_deeply(all($d->each), \@model);
	my ($s, $q) = (Extmem::Stack->new('<q', @opts), Extmem::Queue->new(8, @opts));
	$s->push_many([1, 2, 3]);
	is_deeply([$s->peek, $s->pop, $s->pop_many(9), $s->size], [3, 3, [1, 2], 0]);
	$q->push('abcdefgh');
	$q->push_many('12345678');
	is_deeply([$q->front, $q->back, $q->pop, $q->pop_packed(5)], [qw(abcdefgh 12345678 abcdefgh 12345678)]);
	refuses(sub { $q->push('short') });
	is($s->stats->{records}, 0);
};

subtest 'priority queues' => sub {
	my $q = Extmem::PriorityQueue->new('<qI', @opts, key => '-f0', stable => 1);
	my @list = map { [int rand 50, $_] } 1 .. 1000;
	$q->push($_) for @list;
	@list = sort { $b->[0] <=> $a->[0] || $a->[1] <=> $b->[1] } @list;
	is_deeply($q->top, $list[0]);
	my $first = $q->pop_until([40, 0], 5000);
	is_deeply($first, [grep { $_->[0] > 40 } @list]);
	is_deeply($q->pushpop([99, 1]), [99, 1]);
	is_deeply($q->items($q->next_batch)->[0], $list[@$first]);
	my $r = Extmem::RadixHeap->new('>IH', @opts, key => 'f1');
	$r->push_many([[1, 7], [2, 3]]);
	is_deeply([$r->pop, $r->last, $r->top], [[2, 3], 3, [1, 7]]);
};

subtest 'tree against a hash' => sub {
	my ($tree, %model) = Extmem::BTree->new('>IH', '<d4s', @opts);
	for (1 .. 1000) {
		my ($x, $y) = (int rand 20, int rand 10);
		my $at = $x * 100 + $y;
		if (rand 3 < 1) { is(!!$tree->erase([$x, $y]), exists $model{$at}); delete $model{$at} }
		else { $tree->put([$x, $y], $model{$at} = [rand, 'four']) }
		is_deeply($tree->get([$x, $y]), $model{$at});
	}
	my $it = $tree->each;
	my @seen;
	while (my ($key, $value) = $it->()) {
		push @seen, $key->[0] * 100 + $key->[1];
		is_deeply($value, $model{$seen[-1]});
	}
	is_deeply(\@seen, [sort { $a <=> $b } keys %model]);
	my $forth = keys_of($tree->each([5, 0], [7, 5]));
	is_deeply([map { $_->[0] * 100 + $_->[1] } @$forth], [grep { $_ >= 500 && $_ < 705 } @seen]);
	is_deeply([reverse @{keys_of($tree->each([5, 0], [7, 5], back => 1))}], $forth);
	is(scalar @{keys_of($tree->each(undef, undef, back => 1))}, $tree->size);
	is($tree->count([5, 0], [7, 4]), scalar @$forth);
	$tree->verify;
	$tree->save("$dir/tree");
	my $saved = Extmem::BTree->new('>IH', '<d4s', @opts, path => "$dir/tree");
	is_deeply([$saved->first, $saved->last], [$tree->first, $tree->last]);
	is($tree->erase_range([5, 0], [7, 5]), scalar @$forth);
	my $loaded = Extmem::BTree->new('<Q', '<Q', @opts);
	$loaded->load(Extmem::Sorter->new('<QQ', @opts, key => $loaded->{order})->push([[3, 9], [1, 1]]));
	is_deeply([$loaded->get(3), $loaded->get(1), $loaded->get(2), $loaded->size], [9, 1, undef, 2]);
	my $c = $loaded->cursor;
	is_deeply([$c->seek(2, Extmem::constant('EM_BTREE_GE')), $c->get, $c->next, $c->prev],
		[0, [3, 9], undef, [3, 9]]);
	$c->erase;
	is($loaded->size, 1);
};

subtest 'ranges of a tree by a function' => sub {
	my $tree = Extmem::BTree->new('>IH', '<d', @opts, leaf_bytes => 4096);
	$tree->put([int $_ / 10, $_ % 10], $_ / 2) for 1 .. 1000;
	for my $bounds ([], [[5, 0], [70, 5]], [undef, [0, 5]], [[99, 9]], [[7, 5], [5, 0]]) {
		my (@seen, $calls);
		my $see = sub { my ($at, $items) = @_; is($at, @seen); push @seen, @$items; $calls++ };
		$tree->for_each($see, @$bounds);
		my ($it, @wanted) = $tree->each(@$bounds);
		while (my @pair = $it->()) { push @wanted, \@pair }
		is_deeply(\@seen, \@wanted);
		cmp_ok($calls, '>', 1) if !@$bounds;
	}
	is(eval { $tree->for_each(sub { die "mine\n" }, [5, 0]); 1 }, undef);
	is($@, "mine\n");
	refuses(sub { $tree->for_each(sub { }, [1]) });
	my ($set, $keys) = Extmem::BTree->new('<Q', undef, @opts);
	$set->upsert_many([3, 1, 2]);
	$set->for_each(sub { $keys = $_[1] }, 2);
	is_deeply($keys, [2, 3]);
};

subtest 'many ranges of a tree by a function' => sub {
	my $tree = Extmem::BTree->new('<Q', '<d', @opts, leaf_bytes => 4096);
	$tree->put(2 * $_, $_ / 2) for 1 .. 1000;
	my ($from, $to) = ([1200, 7, 101], [1999, 7, 1301]);
	for my $bounds ([$from, $to], [pack('Q<*', @$from), $to], [$from], [undef, $to]) {
		my ($seen, $wanted) = map { [[], [], []] } 1, 2;
		$tree->for_each_many(sub { my ($i, $items) = @_; push @{$seen->[$i]}, @$items }, @$bounds);
		for my $i (0 .. 2) {
			my $it = $tree->each($bounds->[0] && $from->[$i], $bounds->[1] && $to->[$i]);
			while (my @pair = $it->()) { push @{$wanted->[$i]}, \@pair }
		}
		is_deeply($seen, $wanted);
	}
	is(eval { $tree->for_each_many(sub { die "mine\n" }, $from, $to); 1 }, undef);
	is($@, "mine\n");
	like(dies('EM_ERR_INVAL', sub { $tree->for_each_many(sub { }, $from, [4, 5]) }), qr/3 ranges begin, and 2 end/);
	dies('EM_ERR_INVAL', sub { $tree->for_each_many(sub { }) });
	refuses(sub { $tree->for_each_many(sub { }, $from, [1, 2, 'x']) });
};

subtest 'log, contexts, signals, threads' => sub {
	my @lines;
	my $own = Extmem::Context->new(memory => '4M', dirs => ["$dir"], log => sub { push @lines, $_[1] });
	Extmem::sort([2, 1], '<Q', ctx => $own);
	cmp_ok(scalar @lines, '>', 0);
	is($own->memory, 4 << 20);
	is(Extmem::Context->new('memory=8M,threads=1')->threads, 1);
	$own->cancel;
	dies('EM_ERR_CANCELED', sub { Extmem::sort([2, 1], '<Q', ctx => $own) });
	my $s = Extmem::Sorter->new('<Q', @opts, run_records => 1000);
	local $SIG{ALRM} = sub { die "alarm\n" };
	my $data = "\1" x (1 << 24);
	is(eval { alarm 1; while (1) { $s->push($data) } 1 }, undef);
	is($@, "alarm\n");
	$s->close;
};

sub stream { return Extmem::Stream->new('<Q', [@_], @opts) }

subtest 'streams: nodes' => sub {
	is_deeply([stream(1, 2, 3)->filter(sub { return [map { $_ != 2 } @{$_[0]}] })->read], [1, 3]);
	is_deeply([stream(1, 2)->flat_map(sub { return [map { ([$_, -$_], [$_, $_]) } @{$_[0]}] }, '<qq')->read],
		[[1, -1], [1, 1], [2, -2], [2, 2]]);
	my $seen = 0;
	my $sum = sub { my ($all, $list) = @_; $all += $_ for @$list; return $all };
	is_deeply([stream(1, 1, 2)->inspect(sub { $seen += @{$_[0]}; return })->reduce($sum)->read], [2, 2]);
	is($seen, 3);
	is_deeply([stream(7, 7)->unique(undef, '<QQ')->read], [[7, 2]]);
	is_deeply([stream(1, 2)->concat(stream(9), stream(8))->slice(1, 2)->reverse->read], [9, 2]);
	is_deeply([stream(1, 5)->merge([stream(2), stream(3)])->read], [1, 2, 3, 5]);
	is_deeply([stream(1, 5)->zip([stream(2)], '<QQ')->read], [[1, 2]]);
	is_deeply([stream(1, 2, 3)->window(2, 1, '<QQ')->read], [[1, 2], [2, 3]]);
	is_deeply([stream(1, 2, 2)->join(stream(2, 3), 'left', 'f0', 'f0', '<Q',
		sub { 10 * $_[0] + ($_[1] // 0) })->read],
		[10, 22, 22]);
	is_deeply([stream(1, 2)->join(stream(2), 'inner', undef, undef, '<QQ')->read], [[2, 2]]);
	my ($x, $y) = stream(4, 1)->tee(1);
	$x->batch(1);
	is_deeply([$x->read], [4, 1]);
	is_deeply([$y->prefix_sum->read], [4, 5]);
	dies('EM_ERR_USER', sub { stream(1)->map(sub { '123' })->read });
};

subtest 'streams: where they come from and go to' => sub {
	my ($v, $s) = (Extmem::Vector->new('<Q', @opts), Extmem::Sorter->new('<Q', @opts));
	is(stream(7, 8)->to($v), 2);
	is(stream(3, 1)->to($s), 2);
	is(Extmem::Stream->new('<Q', sub { $s->next_batch }, @opts)->to($v), 2);
	is_deeply(all($v->each), [7, 8, 1, 3]);
	is(stream(5)->to("$dir/out"), 1);
	is_deeply([Extmem::Stream->file('<Q', ["$dir/out", "$dir/out"], @opts)->read], [5, 5]);
	for my $class (qw(Stack Queue Deque PriorityQueue)) {
		my $c = "Extmem::$class"->new('<Q', @opts);
		is(stream(5, 6)->to($c), 2);
		is($c->size, 2);
	}
	is(stream(5, 6)->to(Extmem::BTree->new('<Q', undef, @opts)), 2);
};

subtest 'streams: owners, and ends half-way' => sub {
	my $used = $ctx->memory_used;
	my $endless = sub { return Extmem::Stream->new('<Q', sub { return [1] }, @opts) };
	{
		my $input = $endless->();
		my $node = $input->slice(1);
		dies('EM_ERR_STATE', sub { $input->next_batch });
		ok($input->closed);
		$input->close;
		is_deeply($node->items($node->next_batch), [1]);
		dies('EM_ERR_INVAL', sub { $node->merge([$node]) });
		is_deeply($node->items($node->next_batch), [1]);
		for my $i (1 .. 50) {
			my $both = $endless->()->map(sub { $_[0] })->concat($endless->()->filter(sub { [1] }));
			my ($x, $y) = $both->tee;
			$x->next_batch;
			$y->next_batch;
			$x->close;
			$y->close if $i % 2;
		}
		my $self;
		$self = $endless->()->map(sub { $self->close; return $_[0] });
		dies('EM_ERR_STATE', sub { $self->next_batch });
		my $again;
		$again = $endless->()->map(sub { return $again->next_batch });
		dies('EM_ERR_BUSY', sub { $again->next_batch });
		$again->close;
	}
	is($ctx->memory_used, $used);
};

subtest 'runs' => sub {
	my ($runs, @model) = (Extmem::Runs->new('<q', @opts, memory => '1M', run_records => 500), some(3000, 500));
	$runs->push(\@model)->finish;
	@model = sort { $a <=> $b } @model;
	my ($whole, $part) = ($runs->merge, $runs->merge(100, 200));
	ok(defined $whole->next_batch);
	is_deeply([$part->read], [grep { $_ >= 100 && $_ < 200 } @model]);
	is($runs->stats->{readers}, 1);
	dies('EM_ERR_STATE', sub { $runs->clear });
	$whole->close;
	is_deeply([$runs->merge->read], \@model);
	is_deeply([$runs->merge(undef, undef, skip => 5, take => 2)->read], [@model[5, 6]]);
	is_deeply([$runs->merge(undef, undef, take => 0)->read], []);
	dies('EM_ERR_STATE', sub { $runs->push([1]) });
	$runs->clear;
	$runs->append([1, 5])->append([7])->end_run;
	dies('EM_ERR_FORMAT', sub { $runs->append([5, 2]) });
	$runs->feed(stream(9, 8))->feed(stream(2, 3), sorted => 1);
	is($runs->sink->push([0])->finish->count, 1);
	is_deeply([$runs->merge->read], [0, 1, 2, 3, 5, 7, 8, 9]);
	is($runs->stats->{pushed}, 8);
};

subtest 'runs that combine, and watch' => sub {
	my (@list, %count);
	for (1 .. 10000) { my $key = int rand 20; push @list, [$key, 1]; $count{$key}++ }
	my $told = 0;
	my $add = sub { my ($sum, $more) = @_; $sum->[1] += $_->[1] for @$more; return $sum };
	my $runs = Extmem::Runs->new('<qq', @opts, key => 'f0', combine => $add, run_records => 1000,
		progress => sub { $told++; 0 });
	$runs->push(\@list)->finish;
	my $reduced = Extmem::Stream->new('<qq', \@list, @opts)->sort_reduce($add, 'f0');
	for my $of ($runs->merge, $reduced) { is_deeply({map { @$_ } $of->read}, \%count) }
	is($reduced->runs_info->{pushed}, 10000);
	is($reduced->graph_info->{sorts}, 1);
	my $bad = Extmem::Runs->new('<q', @opts, combine => sub { die "mine\n" });
	$bad->push([1, 1]);
	is(eval { $bad->finish; 1 }, undef);
	is($@, "mine\n");
	dies('EM_ERR_USER', sub { $bad->finish });
	$bad->clear;
	$bad->push([1])->finish;
	# What is merged lives without its runs, and so does its function.
	my $merged = Extmem::Runs->new('<qq', @opts, key => 'f0', combine => $add, run_records => 2)
		->push([map { [$_, 1] } 3, 3, 1, 3, 1])->finish->merge;
	is_deeply([$merged->read], [[1, 2], [3, 3]]);
};

subtest 'streams on containers, and sinks' => sub {
	my $used = $ctx->memory_used;
	for (1 .. 10) {
		my $v = Extmem::Vector->new('<q', @opts);
		$v->push_many([1 .. 4]);
		my @order = ($v, $v->stream(1), $v->stream(0, 3, back => 1), $v->sink(1));
		is_deeply([[$order[1]->read], [$order[2]->read]], [[2, 3, 4], [3, 2, 1]]);
		$order[3]->push([9, 8])->finish;
		is($v->get(1), 9);
		(splice @order, int rand @order, 1)->close while @order;
		ok($v->closed);
	}
	is($ctx->memory_used, $used);
	my $v = Extmem::Vector->new('<q', @opts);
	$v->push(5);
	my $s = $v->stream->map(sub { $v->close; undef $v; return $_[0] });
	is_deeply([$s->read], [5]);
	my $tree = Extmem::BTree->new('<q', '<q', @opts);
	$tree->sink->push([[1, 10], [2, 20], [3, 30]])->finish;
	is_deeply([$tree->stream(2)->read], [[2, 20], [3, 30]]);
	my $sorter = Extmem::Sorter->new('<q', @opts);
	$sorter->sink->push([2, 1])->finish;
	is_deeply([$sorter->stream->read], [1, 2]);
	for my $class (qw(Stack Queue Deque PriorityQueue)) {
		my $c = "Extmem::$class"->new('<Q', @opts);
		$c->sink->push([5, 6]);
		is_deeply([sort $c->stream->read], [5, 6]);
	}
	my ($ended, @got) = 0;
	my $sink = Extmem::Sink->new('<q', sub { @_ ? push @got, @{$_[0]} : $ended++; return }, @opts);
	is_deeply([stream(4, 5)->to($sink), stream(6)->to($sink), $sink->count], [2, 1, 3]);
	$sink->finish;
	is_deeply([\@got, $ended], [[4, 5, 6], 1]);
	dies('EM_ERR_STATE', sub { $sink->push([1]) });
	$sink = Extmem::Sink->new('<q', sub { die "mine\n" }, @opts);
	is(eval { $sink->push([1]); 1 }, undef);
	is($@, "mine\n");
	dies('EM_ERR_USER', sub { $sink->push([1]) });
	Extmem::Sink->file('<q', "$dir/sunk", @opts)->push([1, 2])->finish;
	is(read_('sunk'), pack 'q<2', 1, 2);
	is(stream(1, 2)->to(Extmem::Sink->discard('<Q', @opts)), 2);
};

subtest 'split' => sub {
	my ($odd, $third) = (Extmem::Vector->new('<Q', @opts), Extmem::Sorter->new('<Q', @opts));
	my @list = some(2000);
	my @sinks = ($odd->sink, $third->sink);
	my $s = Extmem::Stream->new('<Q', \@list, @opts)->split(sub { [map { $_ % 3 ? $_ % 2 : 2 } @{$_[0]}] }, @sinks);
	is_deeply([$s->read], [grep { $_ % 3 && $_ % 2 == 0 } @list]);
	$sinks[0]->finish;
	is_deeply(all($odd->each), [grep { $_ % 3 && $_ % 2 } @list]);
	is_deeply([$third->read], [sort { $a <=> $b } grep { $_ % 3 == 0 } @list]);
	for my $bad ([3], [-1], ['x'], [], [0, 0], 'x') {
		refuses(sub { stream(1)->split(sub { $bad }, Extmem::Sink->discard('<Q', @opts))->read });
	}
	my $node = stream(1)->split(sub { die "mine\n" }, Extmem::Sink->discard('<Q', @opts));
	is(eval { $node->read; 1 }, undef);
	is($@, "mine\n");
	# Sinks that are gone, and what they are on, too.
	my $gone = Extmem::Vector->new('<Q', @opts);
	$node = stream(1, 2)->split(sub { [0, 1] }, $gone->sink);
	undef $gone;
	is_deeply([$node->read], [1]);
};

subtest 'records of any length' => sub {
	write_('lines', "b\n#c\n\naa\n");
	my $lines = sub { return Extmem::Stream->file('lines', "$dir/lines", @opts) };
	is_deeply([$lines->()->read], ['b', '#c', '', 'aa']);
	my @seen;
	is($lines->()->filter(sub { [map { !/^#/ } @{$_[0]}] })->inspect(sub { push @seen, @{$_[0]}; return })
		->sort('-r') ->to("$dir/sorted"), 3);
	is_deeply([read_('sorted'), \@seen], ["b\naa\n\n", ['b', '', 'aa']]);
	is_deeply([$lines->()->map(sub { [map { length } @{$_[0]}] }, '<Q')->sort->read], [0, 1, 2, 2]);
	is_deeply([$lines->()->concat($lines->())->slice(3, 2)->read], ['aa', 'b']);
	is_deeply([$lines->()->sort('-u')->read], ['', '#c', 'aa', 'b']);
	is($lines->()->to("$dir/zeros", {kind => 0, delimiter => 0}), 4);
	is(read_('zeros'), "b\0#c\0\0aa\0");
	my @own = (@opts, format => {kind => 1, width => 1});
	is(Extmem::Sink->file('lines', "$dir/more", @own)->push(['xyz', ''])->push(['w'])->finish->count, 3);
	is(read_('more'), "\3xyz\0\1w");
	is_deeply([Extmem::Stream->file('lines', ["$dir/more"], @own)->read], ['xyz', '', 'w']);
	dies('EM_ERR_NOTSUP', sub { $lines->()->reverse });
	my $joined = sub { return $lines->()->sort->join($lines->()->sort, 'inner', undef, undef, undef, @_)->read };
	is_deeply([$joined->(sub { '' })], [('') x 4]);
	refuses(sub { $joined->(sub { undef }) });
	dies('EM_ERR_INVAL', sub { $joined->(undef, 'ab') });
	dies('EM_ERR_NOENT', sub { Extmem::Stream->file('lines', "$dir/none", @opts)->read });
	refuses(sub { $lines->()->map(sub { $_[0] })->read });
	is(eval { $lines->()->filter(sub { die "mine\n" })->read; 1 }, undef);
	is($@, "mine\n");
};

subtest 'streams, sinks and runs: forgotten in any order' => sub {
	my $used = $ctx->memory_used;
	for (1 .. 30) {
		my ($v, $runs) = (Extmem::Vector->new('<Q', @opts),
			Extmem::Runs->new('<Q', @opts, combine => sub { $_[0] }));
		$runs->push([1, 2, 2])->finish;
		my $sink = $v->sink;
		my ($x, $y) = $runs->merge->split(sub { $_[0] }, $sink, Extmem::Sink->discard('<Q', @opts))->tee;
		my @objects = ($v, $runs, $sink, $x, $y, $runs->merge(1, 2), $v->stream);
		eval { $x->next_batch };
		undef $_ for $v, $runs, $sink, $x, $y;
		splice @objects, int rand @objects, 1 while @objects;
	}
	is($ctx->memory_used, $used);
};
package Path { use overload '""' => sub { ${$_[0]} }, fallback => 1 }
package False { use overload '""' => sub { 'no' }, bool => sub { 0 }, fallback => 1 }

subtest 'paths are those of open(), and what dies may be false' => sub {
	use utf8;
	for my $name ("\x{e9}", 'é', '日本') {
		open my $f, '>', "$dir/$name" or die;
		print $f "b\na\n";
		close $f;
		Extmem::sort_file(bless(\"$dir/$name", 'Path'), "$dir/$name.out", @opts);
		ok(-s "$dir/$name.out");
	}
	is(Extmem::Stream->new('<Q', [1], @opts)->to(bless \"$dir/to", 'Path'), 1);
	my $false = bless [], 'False';
	is(eval { Extmem::sort([2, 1], '<Q', cmp => sub { die $false }, @opts); 1 }, undef);
	is(ref $@, 'False');
	eval { die "before\n" };
	Extmem::sort([2, 1], '<Q', cmp => sub { $_[0] <=> $_[1] }, @opts);
	is($@, "before\n");
	my $v = Extmem::Vector->new('<Q', @opts);
	$v->push_many([1, 2, 3]);
	my $next = $v->each;
	$next->();
	$v->resize(1);
	is_deeply(all($next), [2, 3]);
	my $tree = Extmem::BTree->new('<Q', '<Q', @opts);
	$tree->put(1, 2);
	my $more = $tree->each;
	$tree->close;
	dies(EM_ERR_STATE => $more);
};
done_testing();
