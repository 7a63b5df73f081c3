# SPDX-License-Identifier: BSL-1.0
# The scenarios that the tests of all languages run: bindings/scenarios.txt.
use strict;
use warnings;
use Test::More;
use File::Basename;
use File::Temp;
use Extmem;

my %format = (u64 => '<Q', i64 => '<q', u32 => '<I', i32 => '<i');
my ($ctx, $dir);
# 64 bits are exact as integers of Perl.
sub numbers { return $_[0] eq '-' ? () : map { 0 + $_ } split ' ', $_[0] }
sub sorter { my ($format, $many, @opts) = @_; return Extmem::Sorter->new($format, ctx => $ctx, @opts)->push($many) }
sub drained { my ($it, @all) = shift; while (defined(my $x = $it->())) { push @all, $x } return \@all }
sub fail_ { die {mine => 1} }
sub random { my $n = shift; return pack 'V*', map { int rand 2**32 } 1 .. $n / 4 }
sub error_is {
	my ($name, $code) = @_;
	is(eval { $code->(); 1 }, undef, "fails with $name");
	is(ref $@ ? $@->name : $@, $name);
	return;
}
sub runs { my ($list, @opts) = @_; return Extmem::Runs->new('<Q', ctx => $ctx, @opts)->push([numbers($list)]) }
sub add { my ($sum, $more) = @_; $sum->[1] += $_->[1] for @$more; return $sum }
sub counted { my ($keys, $counts) = @_; my @n = numbers($counts); return [map { [$_, shift @n] } numbers($keys)] }
sub file {
	my ($text, $name) = @_;
	my $path = $dir . '/' . ($name // 'lines');
	open my $f, '>', $path or die;
	print $f join "\n", split(/\|/, $text), '';
	close $f;
	return Extmem::Stream->file('lines', $path, ctx => $ctx);
}

# What loops have seen that are left at the first and at the second item, then a batch, then another loop.
sub left {
	my ($s, @seen) = shift;
	for my $stop (1, 2) {
		my $next = $s->each;
		push @seen, $next->() for 1 .. $stop;
	}
	push @seen, @{$s->next_items}, $s->read;
	return \@seen;
}

my %run = (
	leave => sub {
		my ($what, @n) = ($_[0], numbers($_[1]));
		return left($what eq 'stream' ? Extmem::Stream->new('<Q', [@n], ctx => $ctx)
			: $what eq 'top' ? Extmem::Top->new('<Q', 100, ctx => $ctx)->push([@n]) : sorter('<Q', [@n]));
	},
	lineleave => sub { return join '|', @{left(sorter('lines', [split /\|/, $_[0]]))} },
	sort  => sub { my ($spec, $list) = @_; return [sorter($format{$spec}, [numbers($list)])->read] },
	sort2 => sub {
		my ($name, $first, $second, $expected) = @_;
		my @b = numbers($second);
		my @pairs = sorter('<QQ', [map { [$_, shift @b] } numbers($first)], key => $name)->read;
		is_deeply([map { $_->[0] } @pairs], [numbers($expected)]);
		return [map { $_->[1] } @pairs];
	},
	unique => sub { my ($spec, $list) = @_; return [sorter($format{$spec}, [numbers($list)], unique => 1)->read] },
	top => sub {
		my ($spec, $k, $list) = @_;
		return [Extmem::Top->new($format{$spec}, $k, ctx => $ctx)->push([numbers($list)])->read];
	},
	lines => sub {
		my ($keys, $text) = @_;
		return join '|', sorter('lines', [split /\|/, $text], key => $keys)->read;
	},
	heap  => sub {
		my ($spec, $list) = @_;
		my $q = Extmem::PriorityQueue->new($format{$spec}, ctx => $ctx);
		$q->push($_) for numbers($list);
		return drained($q->drain);
	},
	radix => sub {
		my $q = Extmem::RadixHeap->new('<Q', ctx => $ctx);
		$q->push_many([numbers($_[0])]);
		return drained($q->drain);
	},
	late => sub {
		my ($pushes, $pops, $late) = @_;
		my $q = Extmem::RadixHeap->new('<Q', ctx => $ctx);
		$q->push_many([numbers($pushes)]);
		$q->pop for 1 .. $pops;
		$q->push(numbers($late));
	},
	tree => sub {
		my ($keys, $erased) = @_;
		use integer;
		my $tree = Extmem::BTree->new('<Q', '<q', ctx => $ctx);
		$tree->put($_, 2 * $_) for numbers($keys);
		ok($tree->erase($_)) for numbers($erased);
		my ($it, @all) = $tree->each;
		while (my ($key, $value) = $it->()) {
			is($value, 2 * $key);
			push @all, $key;
		}
		return \@all;
	},
	range => sub {
		my ($keys, $from, $to) = @_;
		my $tree = Extmem::BTree->new('<Q', undef, ctx => $ctx);
		$tree->put($_) for numbers($keys);
		my $it = $tree->each($from, $to);
		return drained(sub { return scalar +($it->())[0] });
	},
	vector => sub {
		my $path = "$dir/vector";
		my $v = Extmem::Vector->new('<Q', path => $path, mode => 'w', ctx => $ctx);
		$v->push_many([numbers($_[0])]);
		$v->flush;
		$v->close;
		open my $f, '<:raw', $path or die;
		local $/;
		my $data = <$f>;
		$v = Extmem::Vector->new('<Q', path => $path, mode => 'r', ctx => $ctx);
		is_deeply(drained($v->each), [numbers($_[0])]);
		return [unpack 'Q<*', $data];
	},
	callback => sub {
		my $where = shift;
		my $s = Extmem::Sorter->new('<Q', ctx => $ctx, run_records => 1000, $where => \&fail_);
		# Progress is told five times a second at least: so this goes on until that is so.
		1 while eval {
			$s->push(random(8 * 100000));
			$s->finish if $where ne 'progress';
			1;
		};
		is_deeply($@, {mine => 1});
		$s->push([1]);
	},
	full => sub {
		my ($limit, $n) = @_;
		my $s = Extmem::Sorter->new('<Q', ctx => Extmem::Context->new(memory => '4M', scratch_max => $limit));
		$s->push(random(8 * $n));
		$s->finish;
	},
	memory => sub { Extmem::Context->new(memory => $_[0]) },
	closed => sub {
		my $class = {sorter => 'Sorter', vector => 'Vector', tree => 'BTree', heap => 'PriorityQueue'}->{$_[0]};
		my $x = "Extmem::$class"->new('<Q', $class eq 'BTree' ? undef : (), ctx => $ctx);
		$x->close;
		$x->close;
		ok($x->closed);
		return $class eq 'BTree' ? $x->get(1) : $x->push($class eq 'Sorter' ? [1] : 1);
	},
	misorder => sub {
		my $s = sorter('<Q', [numbers($_[0])]);
		error_is('EM_ERR_STATE', sub { $s->call('next') });
		return [$s->read];
	},
	reentry => sub {
		my $what = shift;
		my ($s, $failed);
		$s = Extmem::Sorter->new('<Q', ctx => $ctx, run_records => 1000, progress => sub {
			eval { $s->$what([1]); 1 } or $failed //= $@;
			return 0;
		});
		$s->push("\0" x 2400000) until $failed;
		$s->close;
		die $failed;
	},
	# A batch is a copy, which nothing takes away.
	batch => sub {
		my $s = sorter('<Q', [numbers($_[0])]);
		my $batch = $s->next_batch;
		is($s->next_batch, undef);
		is_deeply($s->items($batch), [sort { $a <=> $b } numbers($_[0])]);
		return 'copied';
	},
	stream => sub {
		my $s = Extmem::Stream->new('<Q', [numbers($_[0])], ctx => $ctx);
		return [$s->map(sub { return [map { $_ == 18446744073709551615 ? 0 : $_ + 1 } @{$_[0]}] })
			->sort->unique->read];
	},
	set => sub {
		my ($operation, @lists) = @_;
		my ($x, $y) = map { Extmem::Stream->new('<Q', [numbers($_)], ctx => $ctx) } @lists;
		return [$x->set($operation, $y)->read];
	},
	broken => sub {
		my $s = Extmem::Stream->new('<Q', [numbers($_[0])], ctx => $ctx)->map(\&fail_);
		is(eval { $s->next_batch; 1 }, undef);
		is_deeply($@, {mine => 1});
		$s->next_batch;
	},
	told => sub {
		my ($some) = @_;
		my $endless = sub {
			my ($fn) = @_;
			return Extmem::Stream->new('<Q', sub { "\0" x (8 * $some) }, ctx => $ctx)->progress($fn);
		};
		my $pull = sub { my ($s) = @_; while (1) { $s->next_batch } };
		my $stop = sub {
			my ($phase, $done, $total) = @_;
			return $phase == 1 && $done % $some == 0 && $total == 0;
		};
		error_is('EM_ERR_CANCELED', sub { $pull->($endless->($stop)) });
		my $s = $endless->(\&fail_);
		is(eval { $pull->($s); 1 }, undef);
		is_deeply($@, {mine => 1});
		$s->next_batch;
	},
	split => sub {
		my $q = Extmem::Queue->new('<Q', ctx => $ctx);
		my $s = Extmem::Stream->new('<Q', [numbers($_[0])], ctx => $ctx)
			->split(sub { [map { $_ & 1 } @{$_[0]}] }, $q->sink);
		return [$s->read, @{drained($q->drain)}];
	},
	runs => sub {
		my ($pushed, $sorted, @bounds) = @_;
		my $r = runs($pushed)->append([numbers($sorted)])->finish;
		my ($from, $to, $skip, $take) = map { scalar((numbers($_))[0]) } @bounds;
		return [$r->merge($from, $to, skip => $skip, take => $take)->read];
	},
	twice => sub {
		my $r = runs($_[0])->finish;
		my ($x, $y) = map { $r->merge->each } 1, 2;
		my @all = ($x->(), $y->());
		$r->close;
		while (defined(my $item = $x->())) { push @all, $item, $y->() }
		return \@all;
	},
	early => sub {
		my $r = runs($_[0]);
		my $s = $r->merge;
		error_is('EM_ERR_STATE', sub { $s->next_batch });
		$r->finish;
		return [$s->read];
	},
	combine => sub {
		my $r = Extmem::Runs->new('<QQ', ctx => $ctx, key => 'f0', combine => \&add);
		return [map { @$_ } $r->push(counted(@_))->finish->merge->read];
	},
	totals => sub { return [map { @$_ } Extmem::Stream->new('<QQ', counted(@_), ctx => $ctx)
		->sort_reduce(\&add, 'f0')->read] },
	sour => sub {
		my $r = runs($_[0], combine => \&fail_);
		is(eval { $r->finish; 1 }, undef);
		is_deeply($@, {mine => 1});
		$r->push([1]);
	},
	text => sub {
		my ($keys, $text) = @_;
		file($text)->filter(sub { [map { !/^#/ } @{$_[0]}] })->sort($keys)->to("$dir/out");
		open my $f, '<', "$dir/out" or die;
		chomp(my @lines = <$f>);
		return join '|', @lines;
	},
	lengths => sub { return [file($_[0])->map(sub { [map { length } @{$_[0]}] }, '<Q')->read] },
	linejoin => sub {
		my ($kind, $left, $right, $separator, @texts) = @_;
		undef $separator if $separator eq '-';
		my $other = file($texts[1], 'right');
		return join '|', file($texts[0])->join($other, $kind, $left, $right, undef, undef, $separator)->read;
	},
	linepairs => sub {
		my ($kind, $left, $right, @texts) = @_;
		my $pair = sub { return join '+', map { $_ // '-' } @_[0, 1] };
		return join '|', file($texts[0])->join(file($texts[1], 'right'),
			$kind, $left, $right, undef, $pair)->read;
	},
	linesour => sub {
		my $s = file($_[0])->join(file($_[0], 'right'), 'inner', undef, undef, undef, \&fail_);
		is(eval { $s->next_batch; 1 }, undef);
		is_deeply($@, {mine => 1});
		$s->next_batch;
	},
	linetee => sub { return join '|', map { $_->read } file($_[0])->tee(1) },
	lineset => sub { return join '|', file($_[1])->set($_[0], file($_[2], 'right'))->read },
	linesum => sub {
		my ($keys, $text) = @_;
		return join '|', file($text)->reduce(sub { return join '+', $_[0], @{$_[1]} }, $keys)->read;
	},
	linewords => sub { return join '|', file($_[0])->flat_map(sub { [map { split ' ' } @{$_[0]}] })->read },
	linesplit => sub {
		my $sent = Extmem::Sink->file('lines', "$dir/sent", ctx => $ctx);
		my @stays = file($_[0])->split(sub { [map { /^#/ ? 1 : 0 } @{$_[0]}] }, $sent)->read;
		$sent->finish;
		return join '|', @stays, Extmem::Stream->file('lines', "$dir/sent", ctx => $ctx)->read;
	},
	linecount => sub {
		my ($keys, @texts) = @_;
		my $s = file($texts[0])->merge([file($texts[1], 'right')], $keys)->unique($keys, 'lines');
		return join '|', map { tr/\t/:/r } $s->read;
	},
	missing => sub { Extmem::sort_file("$dir/$_[0]", "$dir/out", ctx => $ctx) },
);

# In the source tree; or in a distribution, which has a copy.
my $here = File::Basename::dirname(__FILE__);
my ($scenarios) = grep { -e } map { "$_/scenarios.txt" }
	$ENV{EM_SRCDIR} ? "$ENV{EM_SRCDIR}/bindings" : (), "$here/../core", "$here/../..";
open my $f, q(<), $scenarios or die;
while (my $line = <$f>) {
	next if $line =~ /^#/;
	chomp $line;
	my ($name, $kind, @arguments) = split /\t/, $line;
	my $expected = pop @arguments;
	$dir = File::Temp->newdir;
	$ctx = Extmem::Context->new(memory => '16M');
	subtest $name => sub {
		if ($expected =~ /^!(\w+)$/) {
			error_is($1, sub { $run{$kind}->(@arguments) });
			return;
		}
		my $result = $run{$kind}->(@arguments);
		is_deeply($result, $kind eq 'batch' ? 'copied' : ref $result ? [numbers($expected)] : $expected);
	};
	$ctx->close;
}
done_testing();
