# SPDX-License-Identifier: BSL-1.0
package Extmem::Stream;
# Records that are made when they are asked for, batch by batch, with nothing in between on a disk.  A stream that a node
# is made of belongs to that, and is closed.  What a function dies with comes out of the call that pulled.
use strict;
use warnings;
our @ISA = 'Extmem::Object';
__PACKAGE__->calls('em_stream_', qw(batch count));
my $ALL = '18446744073709551615' + 0;

sub _size { my ($bytes) = Extmem::core('format', ["$_[0]"]); return $bytes }

sub _made {
	my ($ctx, $format, $handle, $as) = @_;
	Extmem::core('retype', $handle, ["$format"]) if $as;
	return bless {ctx => $ctx, format => $format, handle => $handle}, __PACKAGE__;
}

# What a function of the module makes of this stream, with that format, or its own.
sub _node {
	my ($self, $name, $format, @rest) = @_;
	my $handle = Extmem::core($name, $self->{handle}, @rest);
	return _made($self->{ctx}, $format // $self->{format}, $handle, defined $format);
}
sub _order { my ($self, $key) = @_; return Extmem::_order($self->{format}, $key, $self->{ctx})->{handle} }
sub _with  { my ($self, @others) = @_; return [map { $_->{handle} } $self, @others] }

# source: a function that returns the next records, an array of items or a string, or undef; or such records.
sub new {
	my ($class, $format, $source, %opts) = @_;
	my ($ctx) = Extmem::_split(\%opts);
	my $more = ref $source eq 'CODE' ? $source : sub { my $some = $source; undef $source; return $some };
	my @asked = ($ctx->{handle}, _size($format), $ALL, [$more, "$format"]);
	return _made($ctx, $format, Extmem::core('emb_stream_source', @asked));
}

# The records of files, one after the other.
sub file {
	my ($class, $format, $paths, %opts) = @_;
	my ($ctx) = Extmem::_split(\%opts);
	return _made($ctx, $format, Extmem::core('em_stream_file', $ctx->{handle}, _size($format), $paths), 1);
}

# A function gets an array of items and returns one: as many, of this format or another; any number; a truth for each;
# nothing.
for my $pair (['map', 'EMB_MAP'], ['flat_map', 'EMB_FLAT_MAP'], ['filter', 'EMB_FILTER'], ['inspect', 'EMB_INSPECT']) {
	my ($name, $what) = @$pair;
	no strict 'refs';
	*$name = sub {
		my ($self, $fn, $format) = @_;
		$format //= $self->{format};
		return $self->_node('emb_stream_node', $format, Extmem::constant($what), _size($format), [$fn, "$format"]);
	};
}

# Of neighbours with equal keys one item: the function gets a sum and an array of items, and returns the sum with them.
sub reduce {
	my ($self, $fn, $key) = @_;
	return $self->_node('emb_stream_reduce', undef, $self->_order($key), [$fn, "$self->{format}"]);
}

sub sort {    ## no critic
	my ($self, $key, %opts) = @_;
	return $self->_node('em_stream_sort', undef, $self->_order($key), \%opts);
}

# Of equal neighbours the first; counted: a format with a Q at its end, how many they were.
sub unique {
	my ($self, $key, $counted) = @_;
	my $flags = defined $counted ? Extmem::constant('EM_UNIQUE_COUNT') : 0;
	return $self->_node('em_stream_unique', $counted, $self->_order($key), $flags);
}

sub concat {
	my ($self, @others) = @_;
	return _made($self->{ctx}, $self->{format}, Extmem::core('em_stream_concat', $self->_with(@others)));
}

sub merge {
	my ($self, $others, $key) = @_;
	my $handle = Extmem::core('em_stream_merge', $self->_with(@$others), $self->_order($key));
	return _made($self->{ctx}, $self->{format}, $handle);
}

# Records of all side by side, which have that format.
sub zip {
	my ($self, $others, $format) = @_;
	return _made($self->{ctx}, $format, Extmem::core('em_stream_zip', $self->_with(@$others)), 1);
}

# Operation: union, intersection, difference, symmetric.
sub set {
	my ($self, $operation, $other, $key) = @_;
	return $self->_node('em_stream_set', undef, $other->{handle}, $self->_order($key),
		Extmem::constant('EM_SET_' . uc $operation));
}

# left, right: fields by which they are sorted; the function gets two items, one of which may be undef.
sub join {    ## no critic
	my ($self, $other, $kind, $left, $right, $format, $fn) = @_;
	return $self->_node('emb_stream_join', $format, $other->{handle}, Extmem::constant('EM_JOIN_' . uc $kind),
		(map { Extmem::_order($_->[0]{format}, $_->[1], $self->{ctx})->name } [$self, $left], [$other, $right]),
		$fn ? _size($format) : 0, 0, $fn ? [$fn, "$format"] : undef);
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
	return map { _made($self->{ctx}, $self->{format}, $_) } @two;
}

# The next records in a string, or undef.
sub next_batch { my ($batch) = $_[0]->call('next'); return $batch }

sub read {    ## no critic
	my ($self) = @_;
	my @all;
	while (defined(my $batch = $self->next_batch)) { push @all, @{$self->items($batch)} }
	return @all;
}

# Push all to a sorter, which may be given more, a container, or a file: how many there were.
sub to {
	my ($self, $sink) = @_;
	return Extmem::core('emb_stream_to_file', $self->{handle}, $self->{ctx}{handle}, $sink) if !ref $sink;
	if ($sink->prefix eq 'em_vector_') {
		my $n = $sink->call('size');
		return Extmem::core('emb_stream_to_vector', $self->{handle}, $sink->{handle}, $n) - $n;
	}
	return Extmem::core('emb_stream_to_' . substr($sink->prefix, 3, -1), $self->{handle}, $sink->{handle});
}
sub stats { return $_[0]->call('sort_stats_get') }
1;
