# SPDX-License-Identifier: BSL-1.0
# frozen_string_literal: true

require 'extmem_core'

# External memory: sorting and containers for more records than memory holds, on the disks of libextmem.
#
#   Extmem.sort([3, 1, 2], '<Q', memory: '64M')
#   Extmem.sort_file('in.csv', 'out.csv', key: '-t, -k2,2nr')
#
# Records are 'lines', or have a format: '<QI8s' (fields f0, f1, f2), or a number of bytes.  An item is the value of its
# field, or an array of values, or a binary string.  What is many is an array of items, or a string of records side by
# side.  Options are the fields of those in <extmem/*.h> by name, and ctx.
module Extmem
  Core = Extmem_core
  VERSION = Core.em_version

  # Failures: what they are called, and the detail.
  class Error < StandardError
    attr_reader :name, :status, :errno, :op, :path, :offset, :bytes, :record, :done

    def initialize(detail)
      detail.each { |field, value| instance_variable_set("@#{field}", value) unless field == :message }
      told = path.nil? || detail[:message].include?(path)
      super(told ? detail[:message] : "#{path}: #{detail[:message]}")
    end
  end

  class UsageError < Error; end
  class MemoryLimitError < Error; end
  class IOFailure < Error; end
  class NotFoundFailure < IOFailure; end
  class NoSpaceError < IOFailure; end
  class DataError < Error; end
  class CallbackError < Error; end
  class CanceledError < Error; end

  ERRORS = { EM_ERR_NOENT: NotFoundFailure, EM_ERR_NOSPACE: NoSpaceError, EM_ERR_NOMEM: MemoryLimitError,
             EM_ERR_MEMLIMIT: MemoryLimitError, EM_ERR_CANCELED: CanceledError, EM_ERR_USER: CallbackError }.freeze
  private_constant :ERRORS
  Handle.errors = lambda do |detail|
    status = detail[:status]
    general = status > -100 ? UsageError : status > -300 ? IOFailure : status > -400 ? DataError : Error
    ERRORS.fetch(detail[:name].to_sym, general).new(detail)
  end

  # What has a handle: closed by close, at the end of the block of open, or when nobody has it any more.
  class Base
    attr_reader :handle

    def self.open(*arguments, **opts)
      object = new(*arguments, **opts)
      return object unless block_given?

      begin
        yield object
      ensure
        object.close
      end
    end

    # Methods that call the function of the module of their name; others by a name of their own.
    def self.calls(prefix, *names, **others)
      const_set(:PREFIX, prefix)
      names.to_h { |name| [name, name] }.merge(others).each do |name, function|
        define_method(name) { |*arguments| Core.send("#{prefix}#{function}", @handle, *arguments) }
      end
    end

    def call(name, *arguments)
      Core.send("#{self.class::PREFIX}#{name}", @handle, *arguments)
    end

    def initialize_copy(_) = raise(TypeError, "can't copy #{self.class}: it has memory and disks")
    def close = @handle.close
    def closed? = @handle.closed?
    def cancel = @handle.cancel
    def stats = call(:stats_get)
    def json = stats[:json]
    def items(bytes) = Core.items(@handle, bytes)
    def packed(items) = Core.packed(@handle, items)

    private

    # Items of a batch; when the block is left those that it has not come to are next again.
    def each_of(batch)
      list, mark, seen = batch.is_a?(Array) ? batch : items(batch), call(:back, 0, 0), 0
      list.each { |item| (seen += 1) && yield(item) }
    ensure
      call(:back, mark, list.size - seen) if mark && !closed?
    end
  end

  # Budgets, scratch disks, threads: fields of em_ctx_opts, or a text ('memory=64M,threads=2,dir=/fast').
  class Context < Base
    calls 'em_ctx_', :cancel, :memory, :memory_used, :memory_peak, :threads, :backend, :isa

    def initialize(text = nil, **opts)
      super()
      @handle = text ? Core.em_ctx_open_text(text, opts) : Core.em_ctx_open(opts)
    end

    def stats = Core.em_ctx_io_stats_get(@handle)
  end

  class << self
    # The context of what was given none: one for each process.
    def default_context
      @default, @owner = Context.new, Process.pid if @owner != Process.pid || @default.closed?
      @default
    end

    # The context, and options that are not nil.
    def context(opts)
      [opts[:ctx] || default_context, opts.reject { |name, value| name == :ctx || value.nil? }]
    end

    def order(format, key, ctx, cmp = nil)
      key.is_a?(Order) ? key : Order.new(format, key, cmp: cmp, ctx: ctx)
    end

    # Sorted: an array of an array, a string of a string.
    def sort(many, format, **opts, &cmp)
      Sorter.open(format, **opts, cmp: opts[:cmp] || cmp) do |sorter|
        sorter.push(many)
        many.is_a?(String) ? sorter.each_batch.reduce(+''.b, :<<) : sorter.to_a
      end
    end

    # Files: one or several into one.  records: 'lines'; key: as Order has it.  Returns statistics.
    def sort_file(inputs, output, **opts) = Core.em_sort_files(*files(opts), inputs, output, opts)
    def merge_files(inputs, output, **opts) = Core.em_merge_files(*files(opts), inputs, output, opts)

    def unique_file(inputs, output, count: false, presorted: false, min_count: nil, max_count: nil, **opts)
      ctx, order = files(opts)
      Core.em_unique_files(ctx, order, inputs, output, { min_count: min_count, max_count: max_count, count: count,
                                                         presorted: presorted, sort: opts })
    end

    def top_file(inputs, output, k, start: 0, **opts)
      Core.em_top_files(*files(opts), inputs, start, k, output, opts)
    end

    def shuffle_file(inputs, output, records: 'lines', ctx: default_context, **opts)
      Core.em_shuffle_files(ctx.handle, Core.format([records.to_s])[0], inputs, output, opts)
    end

    # What was found; :first: the first record that is not in its place.
    def check_file(path, **opts)
      first = nil
      found = Core.em_check_file(*files(opts), path, opts, ->(_, record) { first ||= record })
      found.merge(first: first)
    end

    private

    # Handles of context and order; opts keeps the options of the library.
    def files(opts)
      ctx = opts.delete(:ctx) || default_context
      order = order(opts.delete(:records) || 'lines', opts.delete(:key), ctx)
      # The order lives as long as the options do not.
      [ctx.handle, order.handle]
    end
  end

  # How records are sorted.  key: fields ('f1,-f0', where - is descending), options of the command for lines
  # ('-t, -k3,3nr'), or what is called with an array of items and returns one of numbers.  cmp: of two items, slow.
  class Order < Base
    calls 'em_order_', :name
    attr_reader :format

    def initialize(format, key = nil, cmp: nil, ctx: Extmem.default_context)
      super()
      @format = format.to_s
      @handle = if cmp || key.respond_to?(:call)
                  Core.send(cmp ? :em_order_cmp : :em_order_key_fn, ctx.handle, [@format, nil, cmp || key])
                else
                  Core.order(ctx.handle, [@format, key])
                end
    end

    def lines? = @format == 'lines'
    def compare(one, other) = lines? ? Core.em_text_compare(@handle, one, other) : call(:compare, one, other)
  end

  # Push, finish, pull: what sorters and tops have in common.
  class Pull < Base
    include Enumerable
    attr_reader :order, :format, :ctx

    def begin(format, key, cmp, opts)
      @ctx, own = Extmem.context(opts)
      @order, @format = Extmem.order(format, key, @ctx, cmp), format.to_s
      @handle = yield(@ctx.handle, @order.handle, own)
      @finished = false
    end

    def push(many)
      call(@format == 'lines' ? :push_batch : :push, many)
      self
    end

    def <<(item) = push([item])

    def finish
      call(:finish)
      @finished = true
      self
    end

    def finished? = @finished

    # The next records: side by side in a string, of lines in an array; nil behind the last.
    def next_batch = call(:next)

    # Ends the input, if that was not done.
    def each_batch
      return to_enum(:each_batch) unless block_given?

      finish unless @finished
      while (batch = next_batch)
        yield batch
      end
      self
    end

    # A block that is left gives back what it has not come to, unless batches were read in it.
    def each(&block)
      return to_enum(:each) unless block

      each_batch { |batch| each_of(batch, &block) }
    end

    def size = call(:pushed)
  end

  # A block compares two items.
  class Sorter < Pull
    calls 'em_sorter_', :push_file

    def initialize(format, key: nil, cmp: nil, **opts, &block)
      super()
      self.begin(format, key, cmp || block, opts) { |*all| Core.em_sorter_open(*all) }
    end

    def write_file(path)
      finish unless finished?
      call(:pull_file, path)
    end

    # Begin anew, also after a failure.
    def clear
      call(:clear)
      @finished = false
    end
  end

  # The records of ranks start, ..., start + k - 1.
  class Top < Pull
    calls 'em_top_'

    def initialize(format, k, start: 0, key: nil, cmp: nil, **opts, &block)
      super()
      self.begin(format, key, cmp || block, opts) { |*own, rest| Core.em_top_open(*own, start, k, rest) }
    end
  end

  # Any number of records of one format.
  class Container < Base
    attr_reader :format, :ctx

    def initialize(format, **opts)
      super()
      @format = format.to_s
      @ctx, own = Extmem.context(opts)
      @handle = Core.send("#{self.class::PREFIX}open", @ctx.handle, own.merge(record_bytes: @format))
    end

    def empty? = size.zero?

    # Up to n records of what has so many left, side by side.
    def some(name, count, left, *arguments)
      some, = call(name, *arguments, [count || left, left].min)
      some || ''.b
    end
  end

  # Arrays: positions from 0, from the end below.
  class Sequence < Container
    include Enumerable

    def [](at)
      at += size if at.negative?
      at.between?(0, size - 1) ? call(:get, at) : nil
    end

    def []=(at, item)
      call(:set, at.negative? ? at + size : at, item)
    end

    # Up to n records from a position, side by side.
    def read(at, count = nil) = some(:read, count, [size - at, 0].max, at)

    def each(&block)
      return to_enum(:each) { size } unless block

      at = 0
      while at < size
        list = items(read(at, 65_536))
        list.each(&block)
        at += list.size
      end
      self
    end

    def <<(item)
      push(item)
      self
    end

    # An order of the same records.
    def order(key, cmp) = Extmem.order(@format, key, @ctx, cmp)
  end

  # With path: and mode: 'r', 'r+' or 'w', the file is the array.
  class Vector < Sequence
    calls 'em_vector_', :size, :write, :push, :push_many, :resize, :reserve, :shrink, :export

    def all(name, *arguments) = call(name, 0, size, *arguments)
    def flush(durable: false) = call(:flush, durable)
    def clear = resize(0)
    def reverse! = all(:reverse)
    def shuffle!(seed = 0, **opts) = all(:shuffle, seed, opts)

    # Items of an array of positions, many read at a time.
    def values_at(*positions) = items(call(:read_many, positions))

    # In place; returns how many are left in front, which are fewer with unique.
    def sort!(key = nil, **opts, &cmp) = all(:sort, order(key, cmp).handle, opts)

    # With a position and an array of items; what a block of map_chunks! returns, if it does, takes their place.
    def each_chunk(&block) = all(:for_each, block)
    def map_chunks!(&block) = all(:mutate, block)

    # How many are so; the first position of one, or nil.
    def count_if(&block) = all(:count, block)

    def find_index(&block)
      at = all(:find, block)
      at && at < size ? at : nil
    end
  end

  class Deque < Sequence
    calls 'em_deque_', :size, :write, :push_front, :push_back_many, :push_front_many, :back, :front, :clear, :prefetch,
          push: :push_back, pop: :pop_back, shift: :pop_front, unshift: :push_front
  end

  # pop and what looks return an item, or nil; pop_many an array, pop_packed a string.
  class Ends < Container
    ALL = %i[size push push_many pop clear].freeze

    def pop_packed(count = nil) = some(:pop_many, count, size)
    def pop_many(count = nil) = items(pop_packed(count))

    def <<(item)
      push(item)
      self
    end

    # Take out item after item.
    def drain
      return to_enum(:drain) { size } unless block_given?

      while (item = pop)
        yield item
      end
    end
  end

  class Stack < Ends
    calls 'em_stack_', *ALL, :peek, :prefetch
  end

  class Queue < Ends
    calls 'em_queue_', *ALL, :front, :back, :prefetch
  end

  # The first record of an order comes out, whatever has been pushed.  A block compares two items.
  class PriorityQueue < Ends
    calls 'em_pq_', *ALL, :top, :pushpop, :replace, next_batch: :next

    def initialize(format, key: nil, cmp: nil, ctx: Extmem.default_context, **opts, &block)
      @ctx, @format, @order = ctx, format.to_s, Extmem.order(format, key, ctx, cmp || block)
      @handle = Core.em_pq_open(ctx.handle, opts.merge(order: @order.handle))
    end

    # Up to n items that come before a bound.
    def pop_until(bound, count = nil, inclusive: false)
      some, got = call(:pop_until, bound, inclusive ? Core::EM_PQ_INCLUSIVE : 0, [count || size, size].min)
      items(some.to_s.byteslice(0, got.to_i * call(:record_bytes)))
    end
  end

  # A queue for keys that are numbers and never go back: key names the field.
  class RadixHeap < Ends
    calls 'em_radix_heap_', *ALL, :top, :last

    def initialize(format, key: 'f0', **opts)
      _, type, offset, flags = Core.format([format.to_s, key])
      super(format, key_type: type, key_offset: offset, key_flags: flags, **opts)
    end
  end

  # A B+-tree: formats of key and value, both with any number of fields.  path: one that was saved, to be read.
  class BTree < Container
    include Enumerable
    calls 'em_btree_', :size, :save, :clear, :flush, :verify, :upsert_many, :insert_many, :erase_many, :count,
          :erase_range
    attr_reader :order

    def initialize(key, value = nil, order: nil, path: nil, **opts)
      @set = value.to_s.empty?
      @ctx, own = Extmem.context(opts)
      @format = "#{key}|#{value}"
      @order = Extmem.order(@format, order, @ctx)
      @handle = path ? Core.em_btree_open_file(@ctx.handle, path, @order.handle, own)
                     : Core.em_btree_open(@ctx.handle, @order.handle, own)
    end

    # [key, value], of a set [key, true]; or nil.
    def pair(item) = @set && !item.nil? ? [item, true] : item
    def [](key) = pair(call(:get, key))&.last
    def key?(key) = !call(:get, key).nil?
    def []=(key, value)
      call(:upsert, @set ? key : [key, value])
    end

    def <<(key)
      self[key] = true
      self
    end

    # Whether it was there.
    def delete(key) = !call(:erase, key).nil?
    def first_pair = pair(call(:min))
    def last_pair = pair(call(:max))
    def shift = pair(call(:pop_min))
    def pop = pair(call(:pop_max))

    # Fill an empty tree with what a Sorter of its order has: each block is written once.
    def load(sorter)
      sorter.finish unless sorter.finished?
      call(:load_sorted, sorter.handle, nil)
    end

    # Pairs with from <= key < to in order, nil being open ends; back: the last one first.  The tree may change.
    def range(from = nil, to = nil, back: false)
      return to_enum(:range, from, to, back: back) unless block_given?

      cursor, begin_ = self.cursor.handle, 1
      until (item = Core.btree_walk(cursor, from, to, begin_, back ? 1 : 0)).nil?
        begin_ = 0
        yield pair(item).to_a
      end
      self
    end

    # With a position in the range and an array of items, many at a time.  The tree may not change meanwhile.
    def each_chunk(from = nil, to = nil, &block) = call(:for_each, from, to, block)

    # With the number of the range and an array of items, for many ranges: from and to are arrays, or one of them nil.
    # Each part of the tree is read once, and ranges that overlap take turns.
    def each_range_chunk(from, to = nil, &block) = call(:for_each_many, from, to, block)
    def each(&block) = range(&block)
    def reverse_each(&block) = range(back: true, &block)
    def cursor = Cursor.new(@handle)
  end

  # A place in a tree, which stays where it is while that changes.  seek(key, how) is 0 if there is one; how is
  # Core::EM_BTREE_...
  class Cursor < Base
    calls 'em_btree_cursor_', :seek, :get, :next, :prev, :erase

    def initialize(tree)
      super()
      @handle = Core.em_btree_cursor_open(tree)
    end
  end
end
require 'extmem/streams'
