# SPDX-License-Identifier: BSL-1.0
package Extmem;
use strict;
use warnings;
use XSLoader;
our $VERSION = '0.1.0';
# Perl looks at signals when something has run.
our $nothing = sub { };
XSLoader::load('Extmem::Core');

package Extmem::Error {
	# Failures die as objects: name, status, message, errno, op, path, offset, bytes, record, done.
	use overload '""' => \&text, bool => sub { 1 }, fallback => 1;

	sub text {
		my $self = shift;
		my $path = $self->{path};
		my $told = !defined $path || index($self->{message}, $path) >= 0;
		return ($told ? '' : "$path: ") . $self->{message} . $self->{at};
	}
	for my $field (qw(name status message errno op path offset bytes record done)) {
		no strict 'refs';
		*$field = sub { $_[0]{$field} };
	}
}

# Functions of the module without their prefix.
sub core { no strict 'refs'; my $name = shift; return &{"Extmem::Corec::$name"}(@_) }
sub constant { no strict 'refs'; return ${"Extmem::Corec::$_[0]"} // die "there is no constant $_[0]\n" }
sub version { return core('em_version') }

my ($default, $owner);

sub default_context {
	($default, $owner) = (Extmem::Context->new, $$) if !$default || $owner != $$ || $default->closed;
	return $default;
}

# The context, the options of the library, and those named of ours.
sub _split {
	my ($opts, @names) = @_;
	my %rest = %$opts;
	my $ctx = delete $rest{ctx};
	return ($ctx // default_context(), \%rest, map { delete $rest{$_} } @names);
}

# Items one by one, of arrays that a function gives until there is none.  Another one is told how many of the last array
# are left when nobody has the iterator any more.
sub _each {
	my $rest = bless [[], 0, @_], 'Extmem::Rest';
	return sub {
		@$rest[0, 1] = ($rest->[2]->() // return, 0) while $rest->[1] >= @{$rest->[0]};
		return $rest->[0][$rest->[1]++];
	};
}
sub Extmem::Rest::DESTROY { my ($list, $at, undef, $back) = @{$_[0]}; return $back && $back->(@$list - $at) }

sub _order {
	my ($format, $key, $ctx, $cmp) = @_;
	return $key if ref $key && ref $key ne 'CODE';
	return Extmem::Order->new($format, $key, ctx => $ctx, cmp => $cmp);
}

# Sorted: an array of an array, records side by side of such.
sub sort {    ## no critic
	my ($many, $format, @opts) = @_;
	my $sorter = Extmem::Sorter->new($format, @opts)->push($many);
	return ref $many ? [$sorter->read] : join '', $sorter->batches;
}

# Files.  Options: records ('lines'), key, ctx, and the fields of the options.  Those that write return statistics.
sub _files {
	my ($opts, @names) = @_;
	my ($ctx, $rest, $records, $key, @own) = _split($opts, 'records', 'key', @names);
	return ($ctx->{handle}, _order($records // 'lines', $key, $ctx), $rest, @own);
}

sub _sort {
	my ($function, $inputs, $output, %opts) = @_;
	my ($ctx, $order, $rest) = _files(\%opts);
	return core($function, $ctx, $order->{handle}, $inputs, $output, $rest);
}
sub sort_file   { return _sort('em_sort_files', @_) }
sub merge_files { return _sort('em_merge_files', @_) }

sub unique_file {
	my ($inputs, $output, %opts) = @_;
	my @names = qw(count presorted min_count max_count);
	my ($ctx, $order, $rest, @own) = _files(\%opts, @names);
	my %own = (sort => $rest, map { ($names[$_] => $own[$_]) } 0 .. $#names);
	return core('em_unique_files', $ctx, $order->{handle}, $inputs, $output, \%own);
}

sub top_file {
	my ($inputs, $output, $k, %opts) = @_;
	my ($ctx, $order, $rest, $start) = _files(\%opts, 'start');
	return core('em_top_files', $ctx, $order->{handle}, $inputs, $start // 0, $k, $output, $rest);
}

sub shuffle_file {
	my ($inputs, $output, %opts) = @_;
	my ($ctx, $rest, $records) = _split(\%opts, 'records');
	my ($bytes) = core('format', [$records // 'lines']);
	return core('em_shuffle_files', $ctx->{handle}, $bytes, $inputs, $output, $rest);
}

# What was found; first: the first record that is not in its place.
sub check_file {
	my ($path, %opts) = @_;
	my ($ctx, $order, $rest) = _files(\%opts);
	my $first;
	my $found = core('em_check_file', $ctx, $order->{handle}, $path, $rest, sub { $first //= $_[1]; return });
	$found->{first} = $first;
	return $found;
}

package Extmem::Object {
	# What has a handle: closed by close(), or when nobody has it any more.

	sub close   { $_[0]{handle}->close;  return }    ## no critic
	sub cancel  { $_[0]{handle}->cancel; return }
	sub closed  { return $_[0]{handle}->closed }
	sub stats   { return $_[0]->call('stats_get') }
	sub json    { return $_[0]->stats->{json} }
	sub items   { return Extmem::core('items', $_[0]{handle}, $_[1]) }
	sub packed  { return Extmem::core('packed', $_[0]{handle}, $_[1]) }
	sub call {
		my ($self, $name, @rest) = @_;
		return Extmem::core($self->prefix . $name, $self->{handle}, @rest);
	}

	# Methods that call the function of the module of their name, or of another one: "last=max".
	sub calls {
		my ($class, $prefix, @names) = @_;
		no strict 'refs';
		*{"${class}::prefix"} = sub { $prefix };
		for (@names) {
			my ($name, $other) = split /=/;
			my $fn = \&{"Extmem::Corec::$prefix" . ($other // $name)};
			*{"${class}::$name"} = sub { my $self = shift; return $fn->($self->{handle}, @_) };
		}
		return;
	}
}
package Extmem::Context {
	# Budgets, scratch disks, threads: fields of em_ctx_opts, or a text ("memory=64M,threads=2,dir=/fast").
	our @ISA = 'Extmem::Object';
	__PACKAGE__->calls('em_ctx_', qw(cancel memory memory_used memory_peak threads backend isa));

	sub new {
		my ($class, @opts) = @_;
		my @given = @opts == 1 ? ('em_ctx_open_text', $opts[0], undef) : ('em_ctx_open', {@opts});
		return bless {handle => Extmem::core(@given)}, $class;
	}
	sub stats { return Extmem::core('em_ctx_io_stats_get', $_[0]{handle}) }
}
package Extmem::Order {
	# How records are sorted.  Key: fields ("f1,-f0", where - is descending), options of the command for lines
	# ("-t, -k3,3nr"), or a function that gets an array of items and returns one of numbers.  cmp: a function of two
	# items, slow.
	our @ISA = 'Extmem::Object';
	__PACKAGE__->calls('em_order_', qw(name));

	sub new {
		my ($class, $format, $key, %opts) = @_;
		my ($ctx, undef, $cmp) = Extmem::_split(\%opts, 'cmp');
		my @made = $cmp || ref $key
			? ($cmp ? 'em_order_cmp' : 'em_order_key_fn', [$format, undef, $cmp // $key])
			: ('order', [$format, $key]);
		return bless {format => $format, handle => Extmem::core($made[0], $ctx->{handle}, $made[1])}, $class;
	}

	sub compare {
		my ($self, $x, $y) = @_;
		return $self->{format} eq 'lines' ? Extmem::core('em_text_compare', $self->{handle}, $x, $y)
			: $self->call('compare', $x, $y);
	}
}
package Extmem::Pull {
	# Push, finish, pull: what sorters and tops have in common.
	our @ISA = 'Extmem::Object';

	sub begin {
		my ($class, $format, $opts, $open) = @_;
		my ($ctx, $rest, $key, $cmp) = Extmem::_split($opts, qw(key cmp));
		my $order = Extmem::_order($format, $key, $ctx, $cmp);
		my $handle = $open->($ctx->{handle}, $order->{handle}, $rest);
		return bless {ctx => $ctx, format => $format, order => $order, handle => $handle}, $class;
	}

	# An array of items, or records side by side.
	sub push {    ## no critic
		my ($self, $many) = @_;
		$self->call($self->{format} eq 'lines' ? 'push_batch' : 'push', $many);
		return $self;
	}

	sub finish { my $self = shift; $self->call('finish'); $self->{finished} = 1; return $self }

	# The next records: side by side, or, of lines, in an array; undef behind the last.  Ends the input.
	sub next_batch { my $self = shift; $self->finish if !$self->{finished}; return $self->call('next') }

	# An iterator: a function that returns the next item, or undef.  When nobody has it any more it gives back what
	# it has not come to, unless other batches were read since; until then it has the rest of its batch.
	sub each {    ## no critic
		my ($self, $mark) = shift;
		my $more = sub { my $list = $self->next_items; $mark = $self->call('back', 0, 0); return $list };
		return Extmem::_each($more, sub { local $@ = undef; eval { $self->call('back', $mark, $_[0]) } });
	}

	sub read {    ## no critic
		my ($self, @all) = @_;
		while (my $list = $self->next_items) { CORE::push @all, @$list }
		return @all;
	}

	sub next_items { my $b = $_[0]->next_batch; return !defined $b || ref $b ? $b : $_[0]->items($b) }

	sub batches {
		my ($self, @all) = @_;
		while (defined(my $batch = $self->next_batch)) { CORE::push @all, $batch }
		return @all;
	}
	sub pushed { return $_[0]->call('pushed') }
}
package Extmem::Sorter {
	our @ISA = 'Extmem::Pull';
	__PACKAGE__->calls('em_sorter_', qw(push_file));

	sub new {
		my ($class, $format, %opts) = @_;
		return $class->begin($format, \%opts, sub { Extmem::core('em_sorter_open', @_) });
	}

	sub write_file {
		my ($self, $path) = @_;
		$self->finish if !$self->{finished};
		return $self->call('pull_file', $path);
	}

	# Begin anew, also after a failure.
	sub clear { my $self = shift; $self->call('clear'); $self->{finished} = 0; return }
}
package Extmem::Top {
	# The records of ranks start, ..., start + k - 1.
	our @ISA = 'Extmem::Pull';
	__PACKAGE__->calls('em_top_');

	sub new {
		my ($class, $format, $k, %opts) = @_;
		my $start = delete $opts{start} // 0;
		return $class->begin($format, \%opts, sub { Extmem::core('em_top_open', @_[0, 1], $start, $k, $_[2]) });
	}
}
package Extmem::Container {
	# Containers: any number of records of one format.
	our @ISA = 'Extmem::Object';

	sub new {
		my ($class, $format, %opts) = @_;
		my ($ctx, $rest) = Extmem::_split(\%opts);
		my $handle = Extmem::core($class->prefix . 'open', $ctx->{handle}, {%$rest, record_bytes => "$format"});
		return bless {handle => $handle, ctx => $ctx, format => $format}, $class;
	}

	# Up to n records of what has so many left, side by side.
	sub some {
		my ($self, $name, $n, $left, @rest) = @_;
		$n = $left if !defined $n || $n > $left;
		return ($self->call($name, @rest, $n))[0] // '';
	}
}
package Extmem::Sequence {
	# Positions are counted from 0.
	our @ISA = 'Extmem::Container';

	sub read { my ($self, $at, $n) = @_; return $self->some('read', $n, $self->size - $at, $at) }    ## no critic

	sub each {    ## no critic
		my $self = shift;
		my $from = 0;
		return Extmem::_each(sub {
			return if $from >= $self->size;
			my $list = $self->items($self->read($from, 65536));
			$from += @$list;
			return $list;
		});
	}
}
package Extmem::Vector {
	# With path => ..., mode => 'r', 'r+' or 'w', the file is the array.
	our @ISA = 'Extmem::Sequence';
	__PACKAGE__->calls('em_vector_', qw(size get set write push push_many resize reserve shrink export));
	sub all     { my ($self, $name, @rest) = @_; return $self->call($name, 0, $self->size, @rest) }
	sub flush   { return $_[0]->call('flush', $_[1] ? 1 : 0) }
	sub clear   { return $_[0]->resize(0) }
	sub reverse { return $_[0]->all('reverse') }    ## no critic
	sub shuffle { my ($self, $seed, %opts) = @_; return $self->all('shuffle', $seed // 0, \%opts) }

	# Items of an array of positions, many read at a time.
	sub read_many { return $_[0]->items($_[0]->call('read_many', $_[1])) }

	# In place; returns how many are left in front, which are fewer with unique => 1.
	sub sort {    ## no critic
		my ($self, $key, %opts) = @_;
		my $order = Extmem::_order($self->{format}, $key, $self->{ctx}, delete $opts{cmp});
		return $self->all('sort', $order->{handle}, \%opts);
	}

	# A function of (position, array of items); an array that one of mutate() returns takes their place.
	sub for_each { return $_[0]->all('for_each', $_[1]) }
	sub mutate   { return $_[0]->all('mutate', $_[1]) }

	# The first position whose item is so, or undef; how many are.
	sub find  { my $at = $_[0]->all('find', $_[1]); return defined $at && $at < $_[0]->size ? $at : undef }
	sub count { return $_[0]->all('count', $_[1]) }
}
package Extmem::Deque {
	our @ISA = 'Extmem::Sequence';
	__PACKAGE__->calls('em_deque_', qw(size get set write push_back push_front push_back_many push_front_many
		pop_back pop_front back front clear prefetch));
}
package Extmem::Ends {
	# pop() and what looks return an item, or undef; pop_many(n) an array, pop_packed(n) records side by side.
	our @ISA = 'Extmem::Container';
	sub pop_packed { my ($self, $n) = @_; return $self->some('pop_many', $n, $self->size) }
	sub pop_many   { my ($self, $n) = @_; return $self->items($self->pop_packed($n)) }
	sub drain      { my $self = shift; return sub { return $self->pop } }
	@Extmem::Stack::ISA = @Extmem::Queue::ISA = @Extmem::PriorityQueue::ISA = @Extmem::RadixHeap::ISA
		= 'Extmem::Ends';
	my @ends = qw(size push push_many pop clear);
	Extmem::Stack->calls('em_stack_', @ends, qw(peek prefetch));
	Extmem::Queue->calls('em_queue_', @ends, qw(front back prefetch));
	Extmem::PriorityQueue->calls('em_pq_', @ends, qw(top pushpop replace));
	Extmem::RadixHeap->calls('em_radix_heap_', @ends, qw(top last));
}
package Extmem::PriorityQueue {
	# The first record of an order comes out, whatever has been pushed.

	sub new {
		my ($class, $format, %opts) = @_;
		my $open = sub { Extmem::core('em_pq_open', $_[0], {%{$_[2]}, order => $_[1]}) };
		return Extmem::Pull::begin($class, $format, \%opts, $open);
	}

	# Up to n items that come before a bound.
	sub pop_until {
		my ($self, $bound, $n, $inclusive) = @_;
		$n = $self->size if !defined $n || $n > $self->size;
		my ($some, $got) =
			$self->call('pop_until', $bound, $inclusive ? Extmem::constant('EM_PQ_INCLUSIVE') : 0, $n);
		return $self->items(substr $some // '', 0, ($got // 0) * $self->call('record_bytes'));
	}

	# The next records, which are taken out, side by side; undef: it is empty.
	sub next_batch { return $_[0]->call('next') }
}
package Extmem::RadixHeap {
	# A queue for keys that are numbers and never go back: key names the field.

	sub new {
		my ($class, $format, %opts) = @_;
		my $key = delete $opts{key} // 'f0';
		(undef, @opts{qw(key_type key_offset key_flags)}) = Extmem::core('format', ["$format", $key]);
		return $class->SUPER::new($format, %opts);
	}
}
package Extmem::BTree {
	# A B+-tree: formats of key and value, both with any number of fields.  path => ...: a saved one, to be read.
	our @ISA = 'Extmem::Container';
	__PACKAGE__->calls('em_btree_',
		qw(size save clear flush verify upsert_many insert_many erase_many count erase_range));

	sub new {
		my ($class, $key, $value, %opts) = @_;
		my ($ctx, $rest, $fields, $path) = Extmem::_split(\%opts, qw(order path));
		my $format = "$key|" . ($value // '');
		my $order = Extmem::_order($format, $fields, $ctx);
		my @made = ($ctx->{handle}, defined $path ? $path : (), $order->{handle}, $rest);
		my %self = (ctx => $ctx, format => $format, order => $order, set => ($value // '') eq '');
		$self{handle} = Extmem::core(defined $path ? 'em_btree_open_file' : 'em_btree_open', @made);
		return bless \%self, $class;
	}

	# (key, value), of a set (key, 1), or nothing.
	sub pair  { my ($self, $item) = @_; return defined $item ? $self->{set} ? ($item, 1) : @$item : () }
	sub get   { my ($self, $key) = @_; my @pair = $self->pair(scalar $self->call('get', $key)); return $pair[1] }
	sub put   { my ($self, $key, $value) = @_; return $self->call('upsert', $self->{set} ? $key : [$key, $value]) }
	sub erase { my ($self, $key) = @_; return defined $self->call('erase', $key) }
	sub first { return $_[0]->pair(scalar $_[0]->call('min')) }
	sub last  { return $_[0]->pair(scalar $_[0]->call('max')) }    ## no critic
	sub pop_first { return $_[0]->pair(scalar $_[0]->call('pop_min')) }
	sub pop_last  { return $_[0]->pair(scalar $_[0]->call('pop_max')) }

	# Fill an empty tree with what a Sorter of its order has: each block is written once.
	sub load {
		my ($self, $sorter) = @_;
		return $self->call('load_sorted', ($sorter->{finished} ? $sorter : $sorter->finish)->{handle}, undef);
	}

	# An iterator of (key, value) with from <= key < to, undef being open ends; back => 1: the last one first.  The
	# tree may change meanwhile.
	sub each {    ## no critic
		my ($self, $from, $to, %opts) = @_;
		my ($cursor, $begin) = ($self->cursor, 1);
		return sub {
			return if !defined $begin;
			my $item = Extmem::core('btree_walk', $cursor->{handle}, $from, $to, $begin,
				$opts{back} ? 1 : 0);
			$begin = defined $item ? 0 : undef;
			return $self->pair($item);
		};
	}

	# A function of (position, array of items) with from <= key < to, many at a time; positions in what is visited.
	sub for_each { my ($self, $fn, $from, $to) = @_; return $self->call('for_each', $from, $to, $fn) }

	# A function of (number of the range, array of items) for many ranges, from arrays of from and of to, of which
	# one may be undef.  Each part of the tree is read once, and ranges that overlap take turns.
	sub for_each_many { my ($self, $fn, $from, $to) = @_; return $self->call('for_each_many', $from, $to, $fn) }

	sub cursor { return bless {handle => Extmem::core('em_btree_cursor_open', $_[0]{handle})}, 'Extmem::Cursor' }
}
package Extmem::Cursor {
	# A place in a tree, which stays where it is while that changes.  seek(key, how) is 0 if there is one; how is
	# Extmem::constant('EM_BTREE_...').
	our @ISA = 'Extmem::Object';
	__PACKAGE__->calls('em_btree_cursor_', qw(seek get next prev erase));
}
require Extmem::Stream;
1;
