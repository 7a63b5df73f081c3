# SPDX-License-Identifier: BSL-1.0
# frozen_string_literal: true

module Extmem
  # Records that are made when they are asked for, batch by batch, with nothing in between on a disk.  A stream that a
  # node is made of belongs to that, and is closed.  What a function raises comes out of the call that pulled.
  class Stream < Base
    include Enumerable
    ALL = (2**64) - 1
    calls 'em_stream_', :batch, :sort_stats_get, left: :count, next_batch: :next
    attr_reader :format

    # source: what is called for the next records, an array of items or a string, or nil; or each() of items.
    def initialize(format, source, ctx: Extmem.default_context)
      super()
      @ctx, @format = ctx, format.to_s
      more = source.respond_to?(:each) ? stepping(source) : source
      @handle = Core.emb_stream_source(ctx.handle, size(@format), ALL, [more, @format])
    end

    # The records of files, one after the other.
    def self.file(format, paths, ctx: Extmem.default_context)
      allocate.send(:made, ctx, format, Core.em_stream_file(ctx.handle, Core.format([format.to_s])[0], paths), true)
    end

    # Yields or calls with an array of items: as many, of this format or another; any number; a truth for each; nothing.
    { map: :EMB_MAP, flat_map: :EMB_FLAT_MAP, filter: :EMB_FILTER, inspect_each: :EMB_INSPECT }.each do |name, what|
      define_method(:"#{name}_batches") do |to = @format, &fn|
        node(:emb_stream_node, to, Core.const_get(what), size(to), [fn, to.to_s])
      end
    end

    # Of neighbours with equal keys one item: yields a sum and an array of items.
    def reduce_batches(key = nil, &fn) = node(:emb_stream_reduce, nil, order(key), [fn, @format])
    def sorted(key = nil, **opts) = node(:em_stream_sort, nil, order(key), opts)

    # Of equal neighbours the first; counted: a format with a Q at its end, how many they were.
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

    # left, right: fields by which they are sorted; yields two items, one of which may be nil.
    def join(other, kind, left, right, format, &fn)
      node(:emb_stream_join, format, other.handle, Core.const_get("EM_JOIN_#{kind.upcase}"),
           Extmem.order(@format, left, @ctx).name, Extmem.order(other.format, right, @ctx).name,
           fn ? size(format) : 0, 0, fn && [fn, format.to_s])
    end

    def slice(skip, take = ALL) = node(:em_stream_slice, nil, skip, take)
    def reversed = node(:em_stream_reverse, nil, 0)

    # The field at that offset, a number of 64 bits, becomes its sum with those before.
    def prefix_sum(offset = 0, type = Core::EM_KEY_U64) = node(:em_stream_prefix_sum, nil, offset, type)
    def window(n, step, format) = node(:emb_stream_window, format, n, step)

    # Two streams of all records; spill: what one has read and the other has not may go to scratch.
    def tee(spill: false) = Core.emb_stream_tee(@handle, spill ? 1 : 0, 0).map { |handle| other(@format, handle) }

    def each
      return to_enum unless block_given?

      while (batch = next_batch)
        items(batch).each { |item| yield item }
      end
      self
    end

    # Push all to a sorter, which may be given more, a container, or a file: how many there were.
    def to(sink)
      case sink
      when String then Core.emb_stream_to_file(@handle, @ctx.handle, sink)
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

    def size(format) = Core.format([format.to_s])[0]
    def order(key) = Extmem.order(@format, key, @ctx).handle
    def with(others) = [self, *others].map(&:handle)

    def node(name, format, *arguments) = other(format || @format, Core.send(name, @handle, *arguments), format)
    def other(format, handle, as = nil) = Stream.allocate.send(:made, @ctx, format, handle, as)

    def made(ctx, format, handle, as)
      @ctx, @format, @handle = ctx, format.to_s, handle
      Core.retype(handle, [@format]) if as
      self
    end
  end
end
