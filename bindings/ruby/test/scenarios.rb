# SPDX-License-Identifier: BSL-1.0
# frozen_string_literal: true

# The scenarios that the tests of all languages run: bindings/scenarios.txt.
require_relative 'harness'

# Each kind is a method.
module Scenarios
  module_function

  FORMATS = { 'u64' => '<Q', 'i64' => '<q', 'u32' => '<I', 'i32' => '<i' }.freeze
  class Mine < StandardError; end

  def numbers(text) = text == '-' ? [] : text.split.map { |word| Integer(word, 10) }
  def sorter(format, many, **opts) = Extmem::Sorter.new(format, ctx: ctx, **opts).push(many)
  def bytes(count) = rng.bytes(count)

  def sort(spec, list) = sorter(FORMATS[spec], numbers(list)).to_a

  def sort2(name, first, second, expected)
    pairs = sorter('<QQ', numbers(first).zip(numbers(second)), key: name).to_a
    equal(pairs.map(&:first), numbers(expected))
    pairs.map(&:last)
  end

  def unique(spec, list) = sorter(FORMATS[spec], numbers(list), unique: true).to_a
  def top(spec, count, list) = Extmem::Top.new(FORMATS[spec], count.to_i, ctx: ctx).push(numbers(list)).to_a
  def lines(keys, text) = sorter('lines', text.split('|'), key: keys).to_a.join('|')

  def heap(spec, list)
    q = Extmem::PriorityQueue.new(FORMATS[spec], ctx: ctx)
    numbers(list).each { |n| q << n }
    q.drain.to_a
  end

  def radix_heap(list)
    q = Extmem::RadixHeap.new('<Q', ctx: ctx)
    q.push_many(numbers(list))
    q
  end

  def radix(list) = radix_heap(list).drain.to_a

  def late(pushes, pops, late)
    q = radix_heap(pushes)
    pops.to_i.times { q.pop }
    q.push(late.to_i)
  end

  def tree(keys, erased)
    tree = Extmem::BTree.new('<Q', '<Q', ctx: ctx)
    numbers(keys).each { |key| tree[key] = 2 * key % 2**64 }
    numbers(erased).each { |key| equal(tree.delete(key), true) }
    tree.each { |key, value| equal(value, 2 * key % 2**64) }
    tree.map(&:first)
  end

  def range(keys, from, to)
    tree = Extmem::BTree.new('<Q', ctx: ctx)
    numbers(keys).each { |key| tree << key }
    tree.range(from.to_i, to.to_i).map(&:first)
  end

  def vector(list)
    file = path('vector')
    Extmem::Vector.open('<Q', path: file, mode: 'w', ctx: ctx) do |v|
      v.push_many(numbers(list))
      v.flush
    end
    Extmem::Vector.open('<Q', path: file, mode: 'r', ctx: ctx) { |v| equal(v.to_a, numbers(list)) }
    File.binread(file).unpack('Q<*')
  end

  def callback(where)
    s = Extmem::Sorter.new('<Q', ctx: ctx, run_records: 1000, where.to_sym => ->(*) { raise Mine })
    fails(Mine) do
      # Progress is told five times a second at least: so this goes on until that is so.
      loop do
        s.push(bytes(8 * 300_000))
        s.finish if where != 'progress'
      end
    end
    s.push([1])
  end

  def full(limit, count)
    s = Extmem::Sorter.new('<Q', ctx: Extmem::Context.new(memory: '4M', scratch_max: limit.to_i))
    s.push(bytes(8 * count.to_i)).finish
  end

  def memory(limit) = Extmem::Context.new(memory: limit.to_i)

  def closed(what)
    name = { 'sorter' => :Sorter, 'vector' => :Vector, 'tree' => :BTree, 'heap' => :PriorityQueue }[what]
    x = Extmem.const_get(name).new('<Q', ctx: ctx)
    2.times { x.close }
    equal(x.closed?, true)
    what == 'tree' ? x[1] : x << 1
  end

  def misorder(list)
    s = sorter('<Q', numbers(list))
    fails('EM_ERR_STATE') { s.next_batch }
    s.to_a
  end

  def reentry(what)
    failed = nil
    s = nil
    progress = lambda do |*|
      s.send(what, [1])
    rescue Extmem::Error => e
      failed = e
      false
    end
    s = Extmem::Sorter.new('<Q', ctx: ctx, run_records: 1000, progress: progress)
    s.push("\0" * 2_400_000) until failed
    raise failed
  end

  # A batch is a copy, which nothing takes away.
  def batch(list)
    s = sorter('<Q', numbers(list)).finish
    batch = s.next_batch
    equal(s.next_batch, nil)
    equal(s.items(batch), numbers(list).sort)
    'copied'
  end

  def streamed(list) = Extmem::Stream.new('<Q', numbers(list).each, ctx: ctx)

  def stream(list)
    streamed(list).map_batches { |some| some.map { |n| (n + 1) % 2**64 } }.sorted.unique.to_a
  end

  def set(operation, first, second) = streamed(first).set(operation, streamed(second)).to_a

  def broken(list)
    s = streamed(list).map_batches { raise Mine }
    fails(Mine) { s.next_batch }
    s.next_batch
  end

  def told(some)
    endless = -> { Extmem::Stream.new('<Q', -> { "\0" * 8 * some.to_i }, ctx: ctx) }
    pull = ->(s) { loop { s.next_batch } }
    s = endless.call.progress { |phase, done, total| phase == 1 && (done % some.to_i).zero? && total.zero? }
    fails('EM_ERR_CANCELED') { pull.call(s) }
    s = endless.call.progress { raise Mine }
    fails(Mine) { pull.call(s) }
    s.next_batch
  end

  def split(list)
    q = Extmem::Queue.new('<Q', ctx: ctx)
    streamed(list).split(q.sink) { |some| some.map { |n| n & 1 } }.to_a + q.drain.to_a
  end

  def formed(list, **opts, &combine) = Extmem::Runs.new('<Q', ctx: ctx, **opts, &combine).push(numbers(list))

  def runs(pushed, sorted, *bounds)
    from, to, skip, take = bounds.map { |text| numbers(text).first }
    formed(pushed).append(numbers(sorted)).finish.merge(from, to, **{ skip: skip, take: take }.compact).to_a
  end

  def twice(list)
    r = formed(list).finish
    one, other = r.merge.each_entry, r.merge.each_entry
    all = [one.next, other.next]
    r.close
    loop { all << one.next << other.next }
    all
  end

  def early(list)
    r = formed(list)
    s = r.merge
    fails('EM_ERR_STATE') { s.next_batch }
    r.finish
    s.to_a
  end

  def add(sum, more) = [sum[0], sum[1] + more.sum(&:last)]
  def counted(keys, counts) = numbers(keys).zip(numbers(counts))

  def combine(keys, counts)
    r = Extmem::Runs.new('<QQ', key: 'f0', ctx: ctx) { |*all| add(*all) }
    r.push(counted(keys, counts)).finish.merge.to_a.flatten
  end

  def totals(keys, counts)
    Extmem::Stream.new('<QQ', counted(keys, counts).each, ctx: ctx).sort_reduce('f0') { |*all| add(*all) }.to_a.flatten
  end

  def sour(list)
    r = formed(list) { raise Mine }
    fails(Mine) { r.finish }
    r.push([1])
  end

  def file(text, name = 'lines') = Extmem::Stream.file('lines', path(name, "#{text.tr('|', "\n")}\n"), ctx: ctx)

  def text(keys, text)
    file(text).filter_batches { |some| some.map { |line| !line.start_with?('#') } }.sorted(keys).to(path('out'))
    File.readlines(path('out'), chomp: true).join('|')
  end

  def lengths(text) = file(text).map_batches('<Q') { |some| some.map(&:size) }.to_a

  def linejoin(kind, left, right, separator, first, second)
    own = separator == '-' ? {} : { separator: separator }
    file(first).join(file(second, 'right'), kind, left, right, **own).to_a.join('|')
  end

  def linepairs(kind, left, right, first, second)
    pairs = file(first).join(file(second, 'right'), kind, left, right) { |a, b| "#{a || '-'}+#{b || '-'}" }
    pairs.to_a.join('|')
  end

  def linesour(text)
    s = file(text).join(file(text, 'right'), :inner, nil) { raise Mine }
    fails(Mine) { s.next_batch }
    s.next_batch
  end

  # What loops have seen that are left at the first and at the second item, then a batch, then another loop.
  def left(pull)
    seen = []
    [1, 2].each do |stop|
      pull.each.with_index(1) do |item, n|
        seen << item
        break if n == stop
      end
    end
    batch = pull.next_batch
    seen.concat(batch.is_a?(Array) ? batch : pull.items(batch), pull.to_a)
  end

  def leave(what, list)
    n = numbers(list)
    left({ 'stream' => -> { streamed(list) }, 'top' => -> { Extmem::Top.new('<Q', 100, ctx: ctx).push(n) },
           'sorter' => -> { sorter('<Q', n) } }[what].call)
  end

  def lineleave(text) = left(sorter('lines', text.split('|'))).join('|')
  def linetee(text) = file(text).tee(spill: true).flat_map(&:to_a).join('|')
  def lineset(operation, first, second) = file(first).set(operation, file(second, 'right')).to_a.join('|')

  def linesum(keys, text)
    file(text).reduce_batches(keys) { |sum, more| [sum, *more].join('+') }.to_a.join('|')
  end

  def linewords(text) = file(text).flat_map_batches { |some| some.flat_map(&:split) }.to_a.join('|')

  def linesplit(text)
    sent = Extmem::Sink.file('lines', path('sent'), ctx: ctx)
    stays = file(text).split(sent) { |some| some.map { |line| line.start_with?('#') ? 1 : 0 } }.to_a
    sent.finish
    (stays + File.readlines(path('sent'), chomp: true)).join('|')
  end

  def linecount(keys, first, second)
    file(first).merge([file(second, 'right')], keys).unique(keys, counted: 'lines').to_a.join('|').tr("\t", ':')
  end

  def missing(name) = Extmem.sort_file(path(name), path('out'), ctx: ctx)
end

File.foreach(File.join(ENV.fetch('EM_SRCDIR'), 'bindings/scenarios.txt'), chomp: true) do |line|
  next if line.start_with?('#')

  name, kind, *arguments, expected = line.split("\t")
  check(name) do
    if expected.start_with?('!EM')
      fails(expected[1..]) { Scenarios.send(kind, *arguments) }
    else
      result = Scenarios.send(kind, *arguments)
      equal(result, kind == 'batch' ? 'copied' : result.is_a?(Array) ? Scenarios.numbers(expected) : expected)
    end
  end
end
