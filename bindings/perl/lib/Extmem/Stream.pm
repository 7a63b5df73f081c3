# SPDX-License-Identifier: BSL-1.0
package Extmem::Stream;
# Records that are made when they are asked for, batch by batch, with nothing in between on a disk; sinks, to which they
# are pushed; and runs, which streams are merged of.  A stream that a node is made of belongs to that, and is closed.
# What a function dies with comes out of the call that pulled.
#
# A stream or sink may be used as long as it is open, also when what it is on was closed, which is done then.  Streams
# of 'lines' have strings of any length; nodes of them are filter, inspect, flat_map, sort, unique, reduce, merge, set,
# join, tee, split, concat, slice, and map, which makes items of a format.
use strict;
use warnings;
our @ISA = 'Extmem::Pull';
__PACKAGE__->calls('em_stream_', qw(batch count stats=sort_stats_get runs_info=runs_info_get
	graph_info=graph_info_get));
my $ALL = '18446744073709551615' + 0;

# What a function of the module has made, as a stream or sink of this format.
sub _made {
	my ($of, $format, $handle, $as, $class) = @_;
	Extmem::core('retype', $handle, ["$format"]) if $as;
	return bless {ctx => $of->{ctx}, format => $format, handle => $handle, finished => 1}, $class // __PACKAGE__;
}

# What one makes of the context and more.
sub _opened {
	my ($function, $class, $format, $given, %opts) = @_;
	my ($ctx) = Extmem::_split(\%opts);
	return _made({ctx => $ctx}, $format, Extmem::core($function, $ctx->{handle}, @$given), 0, $class);
}

# What a function of the module makes of this stream, or of several, with that format, or its own.
sub _node {
	my ($self, $name, $format, @rest) = @_;
	my $of = ref $rest[0] eq 'Extmem::With' ? [map { $_->{handle} } $self, @{shift @rest}] : $self->{handle};
	return _made($self, $format // $self->{format}, Extmem::core($name, $of, @rest), defined $format);
}
sub _with  { return bless [@_], 'Extmem::With' }
sub _order { my ($self, $key) = @_; return Extmem::_order($self->{format}, $key, $self->{ctx})->{handle} }

# A function, and the format of what it makes, unless that is what it gets.
sub _ask { my ($fn, $format) = @_; return $fn ? [$fn, defined $format ? "$format" : undef] : undef }

# source: a function that returns the next records, an array of items or a string, or undef; or such records.
sub new {
	my ($class, $format, $source, @opts) = @_;
	my $more = ref $source eq 'CODE' ? $source : sub { my $some = $source; undef $source; return $some };
	return _opened('emb_stream_source', $class, $format, [0, $ALL, _ask($more, $format)], @opts);
}

# The records of files, one after the other.  format => {...}: fields of em_format, for records of any length.
sub file {
	my ($class, $format, $paths, %opts) = @_;
	return _opened('stream_paths', $class, $format, [["$format"], $paths, delete $opts{format}], %opts);
}

# A function gets an array of items and returns one: as many, of this format or another; any number; a truth for each;
# nothing.
for my $name (qw(map flat_map filter inspect)) {
	no strict 'refs';
	*$name = sub {
		my ($self, $fn, $format) = @_;
		my $what = Extmem::constant('EMB_' . uc $name);
		return $self->_node('emb_stream_node', $format, $what, 0, _ask($fn, $format));
	};
}

# Of neighbours with equal keys one item: the function gets a sum and an array of items, and returns the sum with them.
sub reduce {
	my ($self, $fn, $key) = @_;
	return $self->_node('emb_stream_reduce', undef, $self->_order($key), _ask($fn));
}

sub sort {    ## no critic
	my ($self, $key, %opts) = @_;
	return $self->_node('em_stream_sort', undef, $self->_order($key), \%opts);
}

# As both, and adds before anything is written; runs_info() tells of it.
sub sort_reduce {
	my ($self, $fn, $key, %opts) = @_;
	return $self->_node('emb_stream_sort_reduce', undef, $self->_order($key), \%opts, _ask($fn));
}

# Of equal neighbours the first; counted: a format with a Q at its end, how many they were.  'lines': lines begin with
# that, and a tab.
sub unique {
	my ($self, $key, $counted) = @_;
	my $flags = defined $counted ? Extmem::constant('EM_UNIQUE_COUNT') : 0;
	return $self->_node('em_stream_unique', $counted, $self->_order($key), $flags);
}
sub concat { my ($self, @others) = @_; return $self->_node('em_stream_concat', undef, _with(@others)) }

sub merge {
	my ($self, $others, $key) = @_;
	return $self->_node('em_stream_merge', undef, _with(@$others), $self->_order($key));
}

# Records of all side by side, which have that format.
sub zip { my ($self, $others, $format) = @_; return $self->_node('em_stream_zip', $format, _with(@$others)) }

# Operation: union, intersection, difference, symmetric.
sub set {
	my ($self, $operation, $other, $key) = @_;
	my $which = Extmem::constant('EM_SET_' . uc $operation);
	return $self->_node('em_stream_set', undef, $other->{handle}, $self->_order($key), $which);
}

# Kind: inner, left, full, semi, anti; left, right: keys by which they are sorted; the function gets two items, one of
# which may be undef.  Of lines the format is undef; the function returns a line, and without it this has the fields of
# the keys, and then the others, with a separator: a byte, or as those of left.
sub join {    ## no critic
	my ($self, $other, $kind, $left, $right, $format, $fn, $separator) = @_;
	my @by = ($self->_order($left), $other->_order($right // $left));
	my @given = ($other->{handle}, Extmem::constant('EM_JOIN_' . uc $kind), @by, 0, $separator, 0);
	return $self->_node('emb_stream_join', $format, @given, _ask($fn, $format));
}

# It, of whose graph a function of phase, done, total is told how far that got, as graph_info() says; what is true
# stops it.
sub progress { my ($self, $fn) = @_; return $self->_node('emb_stream_progress', undef, _ask($fn)) }

# What stays, while a function of an array of items returns a number for each: 0, or that of the sink to which it goes.
sub split {    ## no critic
	my ($self, $fn, @sinks) = @_;
	return $self->_node('emb_stream_split', undef, [map { $_->{handle} } @sinks], _ask($fn));
}
sub slice   { my ($self, $skip, $take) = @_; return $self->_node('em_stream_slice', undef, $skip, $take // $ALL) }
sub reverse { return $_[0]->_node('em_stream_reverse', undef, 0) }    ## no critic

# The field at that offset, a number of 64 bits, becomes its sum with those before.
sub prefix_sum {
	my ($self, $offset, $type) = @_;
	return $self->_node('em_stream_prefix_sum', undef, $offset // 0, $type // Extmem::constant('EM_KEY_U64'));
}
sub window { my ($self, $n, $step, $format) = @_; return $self->_node('emb_stream_window', $format, $n, $step) }

# Two streams of all records; spill: what one has read and the other has not may go to scratch.
sub tee {
	my ($self, $spill) = @_;
	my @two = Extmem::core('emb_stream_tee', $self->{handle}, $spill ? 1 : 0, 0);
	return map { _made($self, $self->{format}, $_) } @two;
}

# Push all to a sink or sorter, which may be given more, a container, or a file: how many there were.
sub to {
	my ($self, $sink, $format) = @_;
	return Extmem::core('stream_to_path', $self->{handle}, $self->{ctx}{handle}, $sink, $format)
		if !ref $sink || !$sink->isa('Extmem::Object');
	return $self->call('pump', $sink->{handle}) if $sink->isa('Extmem::Sink');
	my @from = $sink->prefix eq 'em_vector_' ? $sink->size : ();
	my $n = Extmem::core('emb_stream_to_' . substr($sink->prefix, 3, -1), $self->{handle}, $sink->{handle}, @from);
	return @from ? $n - $from[0] : $n;
}

package Extmem::Sink {
	# Where records are pushed to: a function of an array of items, called without any when the sink is finished.
	our @ISA = 'Extmem::Object';
	__PACKAGE__->calls('em_sink_', qw(count));

	sub new {
		my ($class, $format, $fn, @opts) = @_;
		my @given = (0, Extmem::Stream::_ask($fn, $format));
		return Extmem::Stream::_opened('emb_sink_function', $class, $format, \@given, @opts);
	}

	# A file, which is there when the sink is finished, as Extmem::Stream->file has them; and nothing.
	sub file {
		my ($class, $format, $path, %opts) = @_;
		my @given = (["$format"], $path, delete $opts{format});
		return Extmem::Stream::_opened('sink_path', $class, $format, \@given, %opts);
	}

	sub discard {
		my ($class, $format, @opts) = @_;
		return Extmem::Stream::_opened('sink_none', $class, $format, [["$format"]], @opts);
	}

	sub push { Extmem::core('emb_sink_push_lines', $_[0]{handle}, $_[1]); return $_[0] }    ## no critic
	*finish = \&Extmem::Pull::finish;
}
package Extmem::Runs {
	# Sorted runs: formed once, merged as often as one likes, also in parts.  Options: key, cmp, merge_memory, how
	# they are formed, and combine: a function that makes one of equal items, as of sort_reduce().
	our @ISA = 'Extmem::Object';
	__PACKAGE__->calls('em_runs_', qw(clear end_run=end stats=info_get));
	*push = \&Extmem::Pull::push;
	*finish = \&Extmem::Pull::finish;

	sub new {
		my ($class, $format, %opts) = @_;
		my ($combine, $least) = delete @opts{qw(combine merge_memory)};
		return Extmem::Pull::begin($class, $format, \%opts, sub {
			my %own = (form => $_[2], merge_memory => $least);
			return Extmem::core('emb_runs_open', @_[0, 1], \%own, Extmem::Stream::_ask($combine));
		});
	}

	# Records of a sorted sequence, which goes on with the next call, and ends with end_run().
	sub append { my ($self, $many) = @_; $self->call('append', $many); return $self }

	sub _flags {
		my (%opts) = @_;
		my ($sorted, $more) = map { Extmem::constant("EM_RUNS_$_") } qw(SORTED MORE);
		return ($opts{sorted} ? $sorted : 0) | ($opts{more} ? $more : 0);
	}

	# All that a stream has, which stays open.  sorted => 1: it is a sorted sequence.
	sub feed {
		my ($self, $stream, %opts) = @_;
		Extmem::core('emb_runs_feed', $self->{handle}, $stream->{handle}, _flags(%opts));
		return $self;
	}

	# more => 1: it ends a sequence, and does not finish the runs.
	sub sink {
		my ($self, %opts) = @_;
		my $handle = Extmem::core('em_sink_runs', $self->{handle}, _flags(%opts));
		return Extmem::Stream::_made($self, $self->{format}, $handle, 0, 'Extmem::Sink');
	}

	# A Stream of items with from <= item < to; of these take => n behind the first skip => n; memory: its most.
	sub merge {
		my ($self, $from, $to, %opts) = @_;
		my @own = ($opts{skip} // 0, $opts{take} // $ALL, $opts{memory} // 0);
		my $handle = Extmem::core('emb_runs_merge', $self->{handle}, $from, $to, @own);
		return Extmem::Stream::_made($self, $self->{format}, $handle);
	}
}

# What streams take records from, and sinks push them to: containers and sorters.
sub _flow {
	my ($kind, $class, $self, @own) = @_;
	my $name = "em_${kind}_" . substr $self->prefix, 3, -1;
	return _made($self, $self->{format}, Extmem::core($name, $self->{handle}, @own), 0, $class);
}

# Of sequences up to n items from a position on, back => 1: the last one first; of trees from <= key < to.
sub Extmem::Sequence::stream {
	my ($self, $at, $n, %opts) = @_;
	$at //= 0;
	my $left = $self->size > $at ? $self->size - $at : 0;
	return _flow('stream', __PACKAGE__, $self, $at, defined $n && $n < $left ? $n : $left, $opts{back} ? 1 : 0);
}
sub Extmem::Container::stream { return _flow('stream', __PACKAGE__, $_[0]) }
sub Extmem::BTree::stream     { return _flow('stream', __PACKAGE__, $_[0], $_[1], $_[2]) }
*Extmem::Sorter::stream = \&Extmem::Container::stream;

# Of vectors over items from a position on, or behind the last one.
sub Extmem::Container::sink { return _flow('sink', 'Extmem::Sink', $_[0]) }
sub Extmem::Vector::sink    { return _flow('sink', 'Extmem::Sink', $_[0], $_[1] // $_[0]->size) }
sub Extmem::BTree::sink     { return _flow('sink', 'Extmem::Sink', $_[0], undef) }
*Extmem::Sorter::sink = \&Extmem::Container::sink;
1;
