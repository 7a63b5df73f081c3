# SPDX-License-Identifier: BSL-1.0
# frozen_string_literal: true

module Extmem
  # What streams, sinks and runs have in common: a format, the context, and how they are made.
  module Flow
    attr_reader :ctx, :format

    # A function, and the format of what it makes, unless that is what it gets.
    def self.ask(fn, format = nil) = fn && [fn, format&.to_s]
    # What a function of the module has made.
    def self.made(kind, ctx, format, handle, as = nil)
      kind.allocate.tap do |object|
        { :@ctx => ctx, :@format => format.to_s, :@handle => handle }.each do |name, value|
          object.instance_variable_set(name, value)
        end
        Core.retype(handle, [format.to_s]) if as
      end
    end
  end

  # Records that are made when they are asked for, batch by batch, with nothing in between on a disk.  A stream that a
  # node is made of belongs to that, and is closed.  What a function raises comes out of the call that pulled.
  #
  # A stream or sink may be used as long as it is open, also when what it is on was closed, which is done then.  Streams
  # of 'lines' have strings of any length; nodes of them are filter_batches, inspect_each_batches, flat_map_batches,
  # sorted, unique, reduce_batches, merge, set, join, tee, split, concat, slice, and map_batches, which makes items of a
  # format.
  class Stream < Base
    include Enumerable
    include Flow
    ALL = (2**64) - 1
    calls 'em_stream_', :batch, left: :count, next_batch: :next, stats: :sort_stats_get,
                        sort_stats_get: :sort_stats_get, runs_info: :runs_info_get, graph_info: :graph_info_get

    # source: what is called for the next records, an array of items or a string, or nil; or each() of items.
    def initialize(format, source, ctx: Extmem.default_context)
      super()
      @ctx, @format = ctx, format.to_s
      more = source.respond_to?(:each) ? stepping(source) : source
      @handle = Core.emb_stream_source(ctx.handle, 0, ALL, Flow.ask(more, @format))
    end

    # The records of files, one after the other; own: fields of em_format, for records of any length.
    def self.file(format, paths, own = nil, ctx: Extmem.default_context)
      Flow.made(self, ctx, format, Core.stream_paths(ctx.handle, [format.to_s], paths, own))
    end

    # Yields or calls with an array of items: as many, of this format or another; any number; a truth for each; nothing.
    { map: :EMB_MAP, flat_map: :EMB_FLAT_MAP, filter: :EMB_FILTER, inspect_each: :EMB_INSPECT }.each do |name, what|
      define_method(:"#{name}_batches") do |to = nil, &fn|
        node(:emb_stream_node, to, Core.const_get(what), 0, Flow.ask(fn, to))
      end
    end

    # Of neighbours with equal keys one item: yields a sum and an array of items.
    def reduce_batches(key = nil, &fn) = node(:emb_stream_reduce, nil, order(key), Flow.ask(fn))
    def sorted(key = nil, **opts) = node(:em_stream_sort, nil, order(key), opts)

    # As both, and adds before anything is written; runs_info tells of it.
    def sort_reduce(key = nil, **opts, &fn) = node(:emb_stream_sort_reduce, nil, order(key), opts, Flow.ask(fn))

    # Of equal neighbours the first; counted: a format with a Q at its end, how many they were.  'lines': lines begin
    # with that, and a tab.
    def unique(key = nil, counted: nil)
      node(:em_stream_unique, counted, order(key), counted ? Core::EM_UNIQUE_COUNT : 0)
    end

    def concat(*others) = other(@format, Core.em_stream_concat(with(others)))
    def merge(others, key = nil) = other(@format, Core.em_stream_merge(with(others), order(key)))

    # Records of all side by side, which have that format.
    def beside(others, format) = other(format, Core.em_stream_zip(with(others)), true)

    # operation: :union, :intersection, :difference, :symmetric.
    def set(operation, other, key = nil)
      node(:em_stream_set, nil, other.handle, order(key), Core.const_get("EM_SET_#{operation.upcase}"))
    end

    # kind: :inner, :left, :full, :semi, :anti; left, right: keys by which they are sorted; yields two items, one of
    # which may be nil.  Of lines format is nil; a block gives a line, and without it this has the fields of the keys,
    # and then the others, with a separator: a byte, or as those of `left'.
    def join(other, kind, left, right = left, format = nil, separator: nil, &fn)
      by = [order(left), Extmem.order(other.format, right, @ctx).handle]
      node(:emb_stream_join, format, other.handle, Core.const_get("EM_JOIN_#{kind.upcase}"), *by, 0, separator, 0,
           Flow.ask(fn, format))
    end

    # It, of whose graph a block is told how far that got: phase, done, total, as of graph_info; what is true stops it.
    def progress(&fn) = node(:emb_stream_progress, nil, Flow.ask(fn))

    # What stays, while a block of an array of items has a number for each: 0, or that of the sink to which it goes.
    def split(*sinks, &fn) = node(:emb_stream_split, nil, sinks.map(&:handle), Flow.ask(fn))
    def slice(skip, take = ALL) = node(:em_stream_slice, nil, skip, take)
    def reversed = node(:em_stream_reverse, nil, 0)

    # The field at that offset, a number of 64 bits, becomes its sum with those before.
    def prefix_sum(offset = 0, type = Core::EM_KEY_U64) = node(:em_stream_prefix_sum, nil, offset, type)
    def window(n, step, format) = node(:emb_stream_window, format, n, step)

    # Two streams of all records; spill: what one has read and the other has not may go to scratch.
    def tee(spill: false) = Core.emb_stream_tee(@handle, spill ? 1 : 0, 0).map { |handle| other(@format, handle) }

    def each(&block)
      return to_enum unless block

      while (batch = next_batch)
        each_of(batch, &block)
      end
      self
    end

    # Push all to a sink or sorter, which may be given more, a container, or a file: how many there were.
    def to(sink, own = nil)
      case sink
      when String, ->(path) { path.respond_to?(:to_path) } then Core.stream_to_path(@handle, @ctx.handle, sink, own)
      when Sink then call(:pump, sink.handle)
      when Vector then Core.emb_stream_to_vector(@handle, sink.handle, n = sink.size) - n
      else Core.send("emb_stream_to_#{sink.class::PREFIX[3..-2]}", @handle, sink.handle)
      end
    end

    private

    # Items that are made one by one, some at a time.
    def stepping(source)
      items = source.each_entry
      lambda do
        some = []
        loop { some.size < 1024 ? some << items.next : break }
        some.empty? ? nil : some
      end
    end

    def order(key) = Extmem.order(@format, key, @ctx).handle
    def with(others) = [self, *others].map(&:handle)
    def node(name, format, *arguments) = other(format || @format, Core.send(name, @handle, *arguments), format)
    def other(format, handle, as = nil) = Flow.made(Stream, @ctx, format, handle, as)
  end

  # Where records are pushed to: a block of an array of items, called without any when the sink is finished.
  class Sink < Base
    include Flow
    calls 'em_sink_', size: :count

    def initialize(format, ctx: Extmem.default_context, &fn)
      super()
      @ctx, @format = ctx, format.to_s
      @handle = Core.emb_sink_function(ctx.handle, 0, Flow.ask(fn, format))
    end

    # A file, which is there when the sink is finished; and nothing.
    def self.file(format, path, own = nil, ctx: Extmem.default_context)
      Flow.made(self, ctx, format, Core.sink_path(ctx.handle, [format.to_s], path, own))
    end

    def self.discard(format, ctx: Extmem.default_context)
      Flow.made(self, ctx, format, Core.sink_none(ctx.handle, [format.to_s]))
    end

    def push(many)
      Core.emb_sink_push_lines(@handle, many)
      self
    end

    def finish
      call(:finish)
      self
    end
  end

  # What streams take records from, and sinks push them to: containers and sorters.
  module Sources
    def stream(*own)
      Flow.made(Stream, ctx, format, Core.send("em_stream_#{self.class::PREFIX[3..-2]}", @handle, *own))
    end
    def sink(*own) = Flow.made(Sink, ctx, format, Core.send("em_sink_#{self.class::PREFIX[3..-2]}", @handle, *own))
  end
  [Container, Sorter].each { |kind| kind.include(Sources) }

  class Sequence
    # Up to n items from a position on; back: the last one first.
    def stream(at = 0, n = nil, back: false)
      super(at, [[n || size, size - at].min, 0].max, back ? Core::EM_VECTOR_REVERSE : 0)
    end
  end

  class Vector
    # Over items from a position on, or behind the last one.
    def sink(at = size) = super(at)
  end

  class BTree
    # Keys from <= key < to.
    def stream(from = nil, to = nil) = super(from, to)
    def sink = super(nil)
  end

  # Sorted runs: formed once, merged as often as one likes, also in parts.  A block of a sum and an array of equal items
  # makes one of them, as of sort_reduce.
  class Runs < Base
    include Flow
    calls 'em_runs_', :clear, end_run: :end, stats: :info_get

    def initialize(format, key: nil, cmp: nil, merge_memory: nil, **opts, &combine)
      super()
      @ctx, form = Extmem.context(opts)
      @format, @order = format.to_s, Extmem.order(format, key, @ctx, cmp)
      own = { form: form, merge_memory: merge_memory }
      @handle = Core.emb_runs_open(@ctx.handle, @order.handle, own, Flow.ask(combine))
    end

    # Records in any order; and of a sorted sequence, which goes on with the next call, and ends with end_run.
    %i[push append].each do |name|
      define_method(name) do |many|
        call(name, many)
        self
      end
    end

    def finish
      call(:finish)
      self
    end

    # All that a stream has, which stays open.
    def feed(stream, sorted: false)
      Core.emb_runs_feed(@handle, stream.handle, flags(sorted, false))
      self
    end

    # more: it ends a sequence, and does not finish the runs.
    def sink(sorted: false, more: false)
      Flow.made(Sink, @ctx, @format, Core.em_sink_runs(@handle, flags(sorted, more)))
    end

    # A Stream of items with from <= item < to; of these `take' behind the first `skip'.
    def merge(from = nil, to = nil, skip: 0, take: Stream::ALL, memory: 0)
      Flow.made(Stream, @ctx, @format, Core.emb_runs_merge(@handle, from, to, skip, take, memory))
    end

    private

    def flags(sorted, more) = (sorted ? Core::EM_RUNS_SORTED : 0) | (more ? Core::EM_RUNS_MORE : 0)
  end
end
