# SPDX-License-Identifier: BSL-1.0
# frozen_string_literal: true

# What is particular to Ruby, or not in the scenarios.
require_relative 'harness'
require 'pathname'

def some(count, most = 1_000_000) = Array.new(count) { rng.rand(most) }

check('blocks close, each and Enumerable') do
  kept = nil
  equal(Extmem::Sorter.open('<Q', ctx: ctx) { |s| (kept = s).push([3, 1, 2]).map { |n| n * 2 } }, [2, 4, 6])
  equal(kept.closed?, true)
  fails('EM_ERR_STATE') { kept.to_a }
  equal(Extmem::Sorter.new('<Q', ctx: ctx).push([3, 1, 2]).each.next, 1)
  equal(Extmem::Sorter.new('<Q', ctx: ctx).push([3, 1, 2]).each_slice(2).to_a, [[1, 2], [3]])
end

check('formats') do
  items = [[1, -2, 3.5, 'abc'], [255, -32_768, -0.25, "x\0z"]]
  ['<Bhd3s', '>Bhd3s', '=B2xh d3s'].each do |format|
    q = Extmem::Queue.new(format, ctx: ctx)
    q.push_many(items)
    equal(q.pop_many, items)
    equal(q.pop, nil)
  end
  q = Extmem::Queue.new('<B', ctx: ctx)
  [256, -1, 1.5, '1', [], nil, 2**64, :x].each { |bad| fails(ArgumentError) { q << bad } }
  equal(q.size, 0)
  q = Extmem::Queue.new('>q', ctx: ctx)
  edges = [-2**63, 2**63 - 1, -1, 0, 2**62, -2**62]
  q.push_many(edges)
  [2**63, -2**63 - 1, 2**70].each { |bad| fails(ArgumentError) { q << bad } }
  equal(q.items(q.pop_packed), edges)
  q = Extmem::Queue.new('<Q', ctx: ctx)
  q.push_many([2**64 - 1, 2**63, 0])
  [2**64, -1].each { |bad| fails(ArgumentError) { q << bad } }
  equal(q.pop_many, [2**64 - 1, 2**63, 0])
  ['', '<', 'Z', 'Q0B', '-1', '<Q|Q|Q'].each { |bad| fails(ArgumentError) { Extmem::Queue.new(bad, ctx: ctx) } }
end

check('sorting against sort') do
  [0, 1, 2, 1000, 50_000].each do |count|
    list = some(count)
    equal(Extmem.sort(list, '<q', ctx: ctx, run_records: 7777), list.sort)
    equal(Extmem.sort(list.pack('q<*'), '<q', ctx: ctx), list.sort.pack('q<*'))
  end
  list = some(1000)
  equal(Extmem.sort(list, '<q', ctx: ctx, key: ->(many) { many.map { |n| 1_000_000 - n } }), list.sort.reverse)
  equal(Extmem.sort(list, '<q', ctx: ctx, key: ->(many) { many.pack('Q*') }), list.sort)
  equal(Extmem.sort(list, '<q', ctx: ctx) { |a, b| b <=> a }, list.sort.reverse)
end

check('functions that give nonsense, raise, leave') do
  [[], [1], [1, 'x', 3], 'short', 5, nil, {}].each do |bad|
    fails(ArgumentError) { Extmem.sort([3, 1, 2], '<Q', ctx: ctx, key: ->(_) { bad }) }
  end
  fails(ArgumentError) { Extmem.sort([3, 1, 2], '<Q', ctx: ctx) { 'x' } }
  fails(KeyError) { Extmem.sort([3, 1, 2], '<Q', ctx: ctx) { raise KeyError } }
  equal(catch(:out) { Extmem.sort([3, 1, 2], '<Q', ctx: ctx) { throw :out, 5 } }, 5)
  equal(Extmem.sort([3, 1, 2], '<Q', ctx: ctx) { break 6 }, 6)
  equal(->(s) { s.sort([3, 1, 2], '<Q', ctx: ctx) { return 7 } }.call(Extmem), 7)
  fails(SystemExit) { Extmem.sort([3, 1, 2], '<Q', ctx: ctx) { exit 3 } }
  v = Extmem::Vector.new('<Q', ctx: ctx)
  v.push_many([1, 2, 3])
  equal(v.each_chunk { break 8 }, 8)
  equal(v.to_a, [1, 2, 3])
  # Nothing of that is left.
  equal(Extmem.sort([3, 1, 2], '<Q', ctx: ctx) { |a, b| a <=> b }, [1, 2, 3])
end

check('a function that collects, closes and calls') do
  s = Extmem::Sorter.new('<Q', ctx: ctx) do |a, b|
    GC.start if rng.rand(3).zero?
    Extmem.sort([2, 1], '<Q', ctx: ctx) { |c, d| c <=> d }
    a <=> b
  end
  equal(s.push([3, 1, 2]).to_a, [1, 2, 3])
  t = nil
  t = Extmem::Sorter.new('<Q', ctx: ctx) { |a, b| t.close || a <=> b }
  fails(Extmem::Error) { t.push([2, 1]).to_a }
  equal(t.closed?, true)
  # Data that changes while it is pushed.
  data = rng.bytes(1_600_000)
  u = Extmem::Sorter.new('<Q', ctx: ctx, run_records: 1000) do |a, b|
    data.clear
    a <=> b
  end
  copy = data.dup
  equal(u.push(data).to_a, copy.unpack('Q<*').sort)
end

check('collected in any order') do
  20.times do
    own = Extmem::Context.new(memory: '4M')
    tree = Extmem::BTree.new('<Q', '<Q', ctx: own)
    tree[1] = 2
    objects = [own, tree, tree.cursor, Extmem::Sorter.new('<Q', ctx: own, progress: ->(*) { tree && false }),
               Extmem::Vector.new('<Q', ctx: own), Extmem::PriorityQueue.new('<Q', ctx: own)]
    until objects.empty?
      objects.delete_at(rng.rand(objects.size))
      GC.start
    end
  end
  GC.start
  used = ctx.memory_used
  5000.times do
    s = Extmem::Sorter.new('<Q', ctx: ctx)
    s << 1
    fails('EM_ERR_MEMLIMIT') { Extmem::Sorter.new('<Q', ctx: ctx, memory: 1) }
    s.close
  end
  GC.start
  equal(ctx.memory_used < used + 50_000, true)
  # What looks at itself is collected: few of many are left, as some may still be on the stack.
  200.times do |i|
    s = nil
    s = Extmem::Sorter.new('<Q', ctx: ctx, progress: ->(*) { s && false })
    GC.start if i % 20 == 19
  end
  GC.start
  equal(ObjectSpace.each_object(Extmem::Sorter).count < 100, true)
  # So is a stream whose progress looks at it.
  before = ObjectSpace.each_object(Extmem::Stream).count
  200.times do |i|
    t = nil
    t = Extmem::Vector.new('<Q', ctx: ctx).stream.progress { t.nil? }
    GC.start if i % 20 == 19
  end
  GC.start
  equal(ObjectSpace.each_object(Extmem::Stream).count < before + 100, true)
end

check('errors') do
  e = fails(Extmem::NotFoundFailure) { Extmem.sort_file(path('none'), path('out'), ctx: ctx) }
  equal([e.name, e.path, e.errno, e.message.include?('none')], ['EM_ERR_NOENT', path('none'), 2, true])
  path('bad', 'x' * 12)
  fails(Extmem::DataError) { Extmem.sort_file(path('bad'), path('out'), records: '<Q', ctx: ctx) }
  [{ nonsense: 1 }, { memory: 'much' }, { memory: [] }, { flags: -1 }, { progress: 1 }, { 'flags' => 1 }].each do |bad|
    fails(StandardError) { Extmem::Sorter.new('<Q', ctx: ctx, **bad) }
  end
  fails(ArgumentError) { Extmem::Sorter.new('<Q', ctx: ctx).push('1234567') }
  fails('EM_ERR_RANGE') { Extmem::Sorter.new('<Q', key: 'u64le@1', ctx: ctx) }
  [ctx.handle, 5, nil, Object.new].each { |bad| fails(ArgumentError) { Extmem::Core.em_sorter_finish(bad) } }
  fails(ArgumentError) { Extmem::Core.em_sorter_finish }
  fails(TypeError) { Extmem::Handle.new }
end

check('files') do
  a = Pathname(path('a', "b,2\na,10\nc,1\n"))
  stats = Extmem.sort_file(a, path('b'), key: '-t, -k2,2n', ctx: ctx)
  equal(File.read(path('b')), "c,1\nb,2\na,10\n")
  equal([stats[:records_in], stats[:json].include?('"records_in": 3')], [3, true])
  Extmem.merge_files([path('b'), path('b')], path('c'), key: '-t, -k2,2n', ctx: ctx)
  equal(File.read(path('c')), "c,1\nc,1\nb,2\nb,2\na,10\na,10\n")
  Extmem.unique_file(path('c'), path('d'), count: true, ctx: ctx)
  equal(File.read(path('d')), "2\ta,10\n2\tb,2\n2\tc,1\n")
  Extmem.top_file(a, path('e'), 1, start: 1, ctx: ctx)
  equal(File.read(path('e')), "b,2\n")
  Extmem.shuffle_file(a, path('f'), seed: 1, ctx: ctx)
  Extmem.sort_file(path('f'), path('f'), ctx: ctx)
  equal(File.read(path('f')), "a,10\nb,2\nc,1\n")
  equal(Extmem.check_file(a, ctx: ctx)[:first], 'a,10')
  equal(Extmem.check_file(path('f'), ctx: ctx)[:first], nil)
  path('csv', %(2,"x\ny"\n1,z\n))
  Extmem.sort_file(path('csv'), path('csv'), key: '--csv -k1,1n', ctx: ctx)
  equal(File.read(path('csv')), %(1,z\n2,"x\ny"\n))
  s = Extmem::Sorter.new('lines', key: '-r', ctx: ctx)
  s.push_file(a)
  s << 'zz'
  s.write_file(path('g'))
  equal(File.read(path('g')), "zz\nc,1\nb,2\na,10\n")
  s.clear
  equal(s.push(['y', '', 'x']).to_a, ['y', 'x', ''])
end

check('vector') do
  model = some(1000)
  v = Extmem::Vector.new('<I', ctx: ctx)
  v.push_many(model)
  equal(v.to_a, model)
  v[4] = model[4] = 7
  v << (model << 8).last
  equal([v[4], v[-1], v[1001], v[-1002], v.size], [7, 8, nil, nil, 1001])
  equal(v.items(v.read(998)), model[998..])
  equal(v.values_at(4, 0, 1000), model.values_at(4, 0, 1000))
  v.write(1, model[1, 2] = [1, 2])
  equal(v.find_index { |n| n == 2 } <= 2, true)
  equal(v.find_index { false }, nil)
  equal(v.count_if { true }, 1001)
  seen = []
  v.each_chunk { |at, items| equal(at, seen.size) && seen.concat(items) || seen.concat(items) }
  equal(seen, model)
  v.map_chunks! { |_, items| items.map(&:succ) }
  equal(v.to_a, model.map(&:succ))
  v.sort!('-f0')
  equal(v.to_a, model.map(&:succ).sort.reverse)
  v.shuffle!(3)
  v.sort! { |a, b| b <=> a }
  v.reverse!
  equal(v.to_a, model.map(&:succ).sort)
  equal([v.min, v.include?(9)], [2, v.to_a.include?(9)])
  v.clear
  equal(v.empty?, true)
end

check('deque, stack, queue against arrays') do
  d = Extmem::Deque.new('<q', ctx: ctx)
  model = []
  2000.times do
    item = rng.rand(1000)
    case rng.rand(5)
    when 0 then d.unshift(item) && model.unshift(item)
    when 1, 2 then d.push(item) && model.push(item)
    when 3 then equal(d.shift, model.shift)
    else equal(d.pop, model.pop)
    end
  end
  equal(d.to_a, model)
  s = Extmem::Stack.new('<q', ctx: ctx)
  s.push_many([1, 2, 3])
  equal([s.peek, s.pop, s.pop_many(9), s.size, s.stats[:records]], [3, 3, [1, 2], 0, 0])
  q = Extmem::Queue.new(8, ctx: ctx)
  q << 'abcdefgh'
  q.push_many('12345678')
  equal([q.front, q.back, q.pop, q.pop_packed(5)], %w[abcdefgh 12345678 abcdefgh 12345678])
  fails(ArgumentError) { q << 'short' }
end

check('priority queues') do
  q = Extmem::PriorityQueue.new('<qI', key: '-f0', stable: true, ctx: ctx)
  list = Array.new(1000) { |i| [rng.rand(50), i] }
  list.each { |item| q << item }
  list.sort_by! { |n, i| [-n, i] }
  equal(q.top, list.first)
  first = q.pop_until([40, 0])
  equal(first, list.take_while { |n, _| n > 40 })
  equal(q.pushpop([99, 1]), [99, 1])
  equal(q.items(q.next_batch).first, list[first.size])
  r = Extmem::RadixHeap.new('>IH', key: 'f1', ctx: ctx)
  r.push_many([[1, 7], [2, 3]])
  equal([r.pop, r.last, r.top], [[2, 3], 3, [1, 7]])
end

check('tree against a hash') do
  tree = Extmem::BTree.new('>IH', '<d4s', ctx: ctx)
  model = {}
  1000.times do
    key = [rng.rand(20), rng.rand(10)]
    if rng.rand(3).zero?
      equal(tree.delete(key), !model.delete(key).nil?)
    else
      tree[key] = model[key] = [rng.rand, 'four']
    end
    equal([tree[key], tree.key?(key)], [model[key], model.key?(key)])
  end
  all = model.sort
  equal([tree.to_a, tree.size], [all, all.size])
  equal(tree.reverse_each.to_a, all.reverse)
  forth = all.select { |key, _| (key <=> [5, 0]) >= 0 && (key <=> [7, 5]).negative? }
  equal(tree.range([5, 0], [7, 5]).to_a, forth)
  equal(tree.range([5, 0], [7, 5], back: true).to_a, forth.reverse)
  equal(tree.count([5, 0], [7, 4]), forth.size)
  tree.verify
  tree.save(path('tree'))
  saved = Extmem::BTree.new('>IH', '<d4s', path: path('tree'), ctx: ctx)
  equal([saved.first_pair, saved.last_pair, saved.to_a], [all.first, all.last, all])
  equal(tree.erase_range([5, 0], [7, 5]), forth.size)
  loaded = Extmem::BTree.new('<Q', '<Q', ctx: ctx)
  loaded.load(Extmem::Sorter.new('<QQ', key: loaded.order, ctx: ctx).push([[3, 9], [1, 1]]))
  equal([loaded[3], loaded[1], loaded[2], loaded.size], [9, 1, nil, 2])
  c = loaded.cursor
  equal([c.seek(2, Extmem::Core::EM_BTREE_GE), c.get, c.next, c.prev], [0, [3, 9], nil, [3, 9]])
  c.erase
  equal([loaded.shift, loaded.pop, loaded.size], [[1, 1], nil, 0])
end

check('ranges of a tree by a function') do
  tree = Extmem::BTree.new('>IH', '<d', leaf_bytes: 4096, ctx: ctx)
  1000.times { |i| tree[i.divmod(10)] = i / 2.0 }
  [[], [[5, 0], [70, 5]], [nil, [0, 5]], [[99, 8]], [[7, 5], [5, 0]]].each do |bounds|
    seen = []
    places = []
    tree.each_chunk(*bounds) do |at, items|
      equal(at, seen.size)
      places << at
      seen.concat(items)
    end
    equal(seen, tree.range(*bounds).to_a)
    equal(places.size > 1, true) if bounds.empty?
  end
  fails(KeyError) { tree.each_chunk([5, 0]) { raise KeyError } }
  equal(tree.each_chunk { break 8 }, 8)
  fails(ArgumentError) { tree.each_chunk([1]) { nil } }
  set = Extmem::BTree.new('<Q', ctx: ctx)
  set.upsert_many([3, 1, 2])
  keys = nil
  set.each_chunk(2) { |_, items| keys = items }
  equal(keys, [2, 3])
end

check('many ranges of a tree by a function') do
  tree = Extmem::BTree.new('<Q', '<d', leaf_bytes: 4096, ctx: ctx)
  1.upto(1000) { |i| tree[2 * i] = i / 2.0 }
  from, to = [1200, 7, 101], [1999, 7, 1301]
  [[from, to], [from.pack('Q<*'), to], [from], [nil, to]].each do |bounds|
    seen = [[], [], []]
    tree.each_range_chunk(*bounds) { |i, items| seen[i].concat(items) }
    equal(seen, from.zip(to).map { |a, b| tree.range(bounds[0] && a, bounds[1] && b).to_a })
  end
  fails(KeyError) { tree.each_range_chunk(from, to) { raise KeyError } }
  equal(tree.each_range_chunk(from, to) { break 8 }, 8)
  e = fails(Extmem::UsageError) { tree.each_range_chunk(from, [4, 5]) { nil } }
  equal(e.message, '3 ranges begin, and 2 end')
  fails(Extmem::UsageError) { tree.each_range_chunk(nil) { nil } }
  fails(ArgumentError) { tree.each_range_chunk(from, [1, 2, 'x']) { nil } }
end

check('log, contexts, statistics') do
  lines = []
  own = Extmem::Context.new(memory: '4M', dirs: [Harness.dir], log: ->(_, line) { lines << line })
  Extmem.sort([2, 1], '<Q', ctx: own)
  equal(lines.empty?, false)
  equal([own.memory, Extmem::Context.new('memory=8M,threads=1').threads], [4 << 20, 1])
  own.cancel
  fails(Extmem::CanceledError) { Extmem.sort([2, 1], '<Q', ctx: own) }
  own.close
end

check('threads go on') do
  # A call reads a pipe that another thread writes to, which could not if the call held the lock.
  File.mkfifo(path('pipe'))
  data = rng.bytes(16 << 20)
  writer = Thread.new { File.binwrite(path('pipe'), data) }
  Extmem.sort_file(path('pipe'), path('out'), records: '<Q', ctx: ctx)
  writer.join
  equal(File.size(path('out')), data.size)
  # Many threads, each with objects of its own.
  sums = Array.new(4) do |i|
    Thread.new { Extmem.sort((0..20_000).map { |n| (n * 7919 + i) % 20_011 }, '<Q', ctx: ctx).sum }
  end
  equal(sums.map(&:value).all?(&:positive?), true)
end

check('one thread at a time') do
  tree = Extmem::BTree.new('<Q', '<Q', ctx: ctx)
  told = []
  8.times.map do |k|
    Thread.new do
      20.times do |i|
        tree.upsert_many(Array.new(500) { |j| [k * 10_000 + i * 500 + j, i] })
      rescue Extmem::UsageError => e
        told << e.name
      end
    end
  end.each(&:join)
  equal(told - ['EM_ERR_BUSY'], [])
  tree.verify
end

check('what was dropped makes room for what is made') do
  Extmem::Context.open(memory: '8M') do |own|
    GC.disable
    1000.times do
      Extmem::Sorter.new('<Q', ctx: own, memory: '1M')
      Extmem::Vector.new('<Q', ctx: own)
      Extmem::BTree.new('<Q', '<Q', ctx: own)
    end
  ensure
    GC.enable
  end
end

check('a key function fails late, when progress is due') do
  s = Extmem::Sorter.new('<Q', ctx: ctx, run_records: 1000, key: ->(_) { sleep(0.3) && raise(KeyError) })
  fails(KeyError) { s.push(some(300_000)).finish }
  fails('EM_ERR_USER') { s.push([1]) }
end

check('signals, and what other threads raise') do
  s = Extmem::Sorter.new('<Q', ctx: ctx, run_records: 1000)
  data = "\1" * (1 << 24)
  fails(Interrupt) do
    Thread.new(Thread.current) { |main| sleep(0.2) && main.raise(Interrupt) }
    loop { s.push(data) }
  end
  t = Thread.new { loop { s.clear && s.push(data) } }
  sleep 0.2
  t.kill
  t.join
  s.close
  s = Extmem::Sorter.new('<Q', ctx: ctx, run_records: 1000)
  canceled = Thread.new { sleep(0.2) && s.cancel }
  fails(Extmem::CanceledError) { loop { s.push(data) } }
  canceled.join
end

def streamed(*list) = Extmem::Stream.new('<Q', list.each, ctx: ctx)

check('streams: nodes') do
  equal(streamed(1, 2, 3).filter_batches { |some| some.map { |n| n != 2 } }.to_a, [1, 3])
  equal(streamed(1, 2).flat_map_batches('<qq') { |some| some.flat_map { |n| [[n, -n], [n, n]] } }.to_a,
        [[1, -1], [1, 1], [2, -2], [2, 2]])
  seen = 0
  summed = streamed(1, 1, 2).inspect_each_batches { |some| seen += some.size }
                            .reduce_batches { |sum, some| sum + some.sum }
  equal(summed.to_a, [2, 2])
  equal(seen, 3)
  equal(streamed(7, 7).unique(counted: '<QQ').to_a, [[7, 2]])
  equal(streamed(1, 2).concat(streamed(9), streamed(8)).slice(1, 2).reversed.to_a, [9, 2])
  equal(streamed(1, 5).merge([streamed(2), streamed(3)]).to_a, [1, 2, 3, 5])
  equal(streamed(1, 5).beside([streamed(2)], '<QQ').to_a, [[1, 2]])
  equal(streamed(1, 2, 3).window(2, 1, '<QQ').to_a, [[1, 2], [2, 3]])
  equal(streamed(1, 2, 2).join(streamed(2, 3), :left, 'f0', 'f0', '<Q') { |a, b| (10 * a) + (b || 0) }.to_a,
        [10, 22, 22])
  equal(streamed(1, 2).join(streamed(2), :inner, nil, nil, '<QQ').to_a, [[2, 2]])
  one, other = streamed(4, 1).tee(spill: true)
  one.batch(1)
  equal(one.to_a, [4, 1])
  equal(other.prefix_sum.to_a, [4, 5])
  fails('EM_ERR_USER') { streamed(1).map_batches { '123' }.to_a }
end

check('streams: where they come from and go to') do
  v = Extmem::Vector.new('<Q', ctx: ctx)
  s = Extmem::Sorter.new('<Q', ctx: ctx)
  equal([streamed(7, 8).to(v), streamed(3, 1).to(s)], [2, 2])
  equal(Extmem::Stream.new('<Q', s.finish.method(:next_batch), ctx: ctx).to(v), 2)
  equal(Extmem::Stream.new('<Q', v, ctx: ctx).to_a, [7, 8, 1, 3])
  equal(streamed(5).to(path('out')), 1)
  equal(Extmem::Stream.file('<Q', [path('out'), path('out')], ctx: ctx).to_a, [5, 5])
  %i[Stack Queue Deque PriorityQueue].each do |name|
    c = Extmem.const_get(name).new('<Q', ctx: ctx)
    equal([streamed(5, 6).to(c), c.size], [2, 2])
  end
  equal(streamed(5, 6).to(Extmem::BTree.new('<Q', ctx: ctx)), 2)
end

check('streams: owners, and ends half-way') do
  endless = -> { Extmem::Stream.new('<Q', -> { [1] }, ctx: ctx) }
  input = endless.call
  node = input.slice(1)
  fails('EM_ERR_STATE') { input.next_batch }
  equal(input.closed?, true)
  input.close
  equal(node.first(2), [1, 1])
  fails('EM_ERR_INVAL') { node.merge([node]) }
  equal(node.first, 1)
  50.times do |i|
    both = endless.call.map_batches(&:itself).concat(endless.call.filter_batches { [true] })
    one, other = both.tee
    [one, other].each(&:next_batch)
    one.close
    other.close if i.odd?
  end
  GC.start
  same = nil
  same = endless.call.map_batches { |some| same.close || some }
  fails('EM_ERR_STATE') { same.next_batch }
  again = nil
  again = endless.call.map_batches { again.next_batch }
  fails('EM_ERR_BUSY') { again.next_batch }
end

check('runs') do
  runs = Extmem::Runs.new('<q', ctx: ctx, memory: '1M', run_records: 500)
  model = some(3000, 500)
  runs.push(model).finish
  model.sort!
  whole, part = runs.merge, runs.merge(100, 200)
  equal(whole.next_batch.nil?, false)
  equal(part.to_a, model.select { |n| n.between?(100, 199) })
  equal(runs.stats[:readers], 1)
  fails('EM_ERR_STATE') { runs.clear }
  whole.close
  equal(runs.merge.to_a, model)
  equal(runs.merge(skip: 5, take: 2).to_a, model[5, 2])
  equal(runs.merge(take: 0).to_a, [])
  fails('EM_ERR_STATE') { runs.push([1]) }
  runs.clear
  runs.append([1, 5]).append([7]).end_run
  fails('EM_ERR_FORMAT') { runs.append([5, 2]) }
  runs.feed(streamed(9, 8)).feed(streamed(2, 3), sorted: true)
  equal(runs.sink.push([0]).finish.size, 1)
  equal(runs.merge.to_a, [0, 1, 2, 3, 5, 7, 8, 9])
  equal(runs.stats[:pushed], 8)
end

check('runs that combine, and watch') do
  list = Array.new(10_000) { [rng.rand(20), 1] }
  told = 0
  add = ->(sum, more) { [sum[0], sum[1] + more.sum(&:last)] }
  runs = Extmem::Runs.new('<qq', key: 'f0', run_records: 1000, ctx: ctx, progress: ->(*) { (told += 1) && false }, &add)
  runs.push(list).finish
  reduced = Extmem::Stream.new('<qq', list.each, ctx: ctx).sort_reduce('f0', &add)
  [runs.merge, reduced].each { |of| equal(of.to_a, list.group_by(&:first).transform_values(&:size).sort) }
  equal([reduced.runs_info[:pushed], reduced.graph_info[:sorts]], [10_000, 1])
  bad = Extmem::Runs.new('<q', ctx: ctx) { raise 'mine' }
  bad.push([1, 1])
  equal(fails(RuntimeError) { bad.finish }.message, 'mine')
  fails('EM_ERR_USER') { bad.finish }
  bad.clear
  bad.push([1]).finish
  # What is merged lives without its runs, and so does its function.
  merged = lambda do
    Extmem::Runs.new('<qq', key: 'f0', ctx: ctx, run_records: 2, &add).push([3, 3, 1, 3, 1].zip([1] * 5)).finish.merge
  end.call
  GC.start
  equal(merged.to_a, [[1, 2], [3, 3]])
end

check('streams on containers, and sinks') do
  10.times do
    v = Extmem::Vector.new('<q', ctx: ctx)
    v.push_many([1, 2, 3, 4])
    order = [v, v.stream(1), v.stream(0, 3, back: true), v.sink(1)]
    equal(order[1, 2].map(&:to_a), [[2, 3, 4], [3, 2, 1]])
    order[3].push([9, 8]).finish
    equal(v[1], 9)
    used = ctx.memory_used
    order.shuffle(random: rng).each(&:close)
    equal([v.closed?, ctx.memory_used < used], [true, true])
  end
  v = Extmem::Vector.new('<q', ctx: ctx)
  v.push(5)
  s = v.stream.map_batches { |some| (v&.close || v = nil) || GC.start || some }
  equal(s.to_a, [5])
  tree = Extmem::BTree.new('<q', '<q', ctx: ctx)
  tree.sink.push([[1, 10], [2, 20], [3, 30]]).finish
  equal(tree.stream(2).to_a, [[2, 20], [3, 30]])
  sorter = Extmem::Sorter.new('<q', ctx: ctx)
  sorter.sink.push([2, 1]).finish
  equal(sorter.stream.to_a, [1, 2])
  %i[Stack Queue Deque PriorityQueue].each do |name|
    c = Extmem.const_get(name).new('<Q', ctx: ctx)
    c.sink.push([5, 6])
    equal(c.stream.to_a.sort, [5, 6])
  end
  got = []
  sink = Extmem::Sink.new('<q', ctx: ctx) { |some = :end| got << some }
  equal([streamed(4, 5).to(sink), streamed(6).to(sink), sink.size], [2, 1, 3])
  sink.finish
  equal([got.pop, got.flatten], [:end, [4, 5, 6]])
  fails('EM_ERR_STATE') { sink.push([1]) }
  sink = Extmem::Sink.new('<q', ctx: ctx) { raise 'mine' }
  equal(fails(RuntimeError) { sink.push([1]) }.message, 'mine')
  fails('EM_ERR_USER') { sink.push([1]) }
  Extmem::Sink.file('<q', path('sunk'), ctx: ctx).push([1, 2]).finish
  equal(File.binread(path('sunk')), [1, 2].pack('q<2'))
  equal(streamed(1, 2).to(Extmem::Sink.discard('<Q', ctx: ctx)), 2)
end

check('split') do
  odd = Extmem::Vector.new('<Q', ctx: ctx)
  third = Extmem::Sorter.new('<Q', ctx: ctx)
  list = some(2000)
  sinks = [odd.sink, third.sink]
  node = streamed(*list).split(*sinks) { |many| many.map { |n| (n % 3).zero? ? 2 : n % 2 } }
  equal(node.to_a, list.select { |n| n % 3 != 0 && n.even? })
  sinks[0].finish
  equal(odd.to_a, list.select { |n| n % 3 != 0 && n.odd? })
  equal(third.to_a, list.select { |n| (n % 3).zero? }.sort)
  [[3], [-1], ['x'], [], [0, 0], 'x'].each do |bad|
    fails(StandardError) { streamed(1).split(Extmem::Sink.discard('<Q', ctx: ctx)) { bad }.to_a }
  end
  node = streamed(1).split(Extmem::Sink.discard('<Q', ctx: ctx)) { raise 'mine' }
  equal(fails(RuntimeError) { node.to_a }.message, 'mine')
  # Sinks that are gone, and what they are on, too.
  node = -> { streamed(1, 2).split(Extmem::Vector.new('<Q', ctx: ctx).sink) { [0, 1] } }.call
  GC.start
  equal(node.to_a, [1])
end

check('records of any length') do
  path('lines', "b\n#c\n\naa\n")
  lines = -> { Extmem::Stream.file('lines', path('lines'), ctx: ctx) }
  equal(lines.call.to_a, ['b', '#c', '', 'aa'])
  seen = []
  kept = lines.call.filter_batches { |some| some.map { |line| line[0] != '#' } }
    .inspect_each_batches { |some| seen += some }
  equal(kept.sorted('-r').to(path('sorted')), 3)
  equal([File.read(path('sorted')), seen], ["b\naa\n\n", ['b', '', 'aa']])
  equal(lines.call.map_batches('<Q') { |some| some.map(&:size) }.sorted.to_a, [0, 1, 2, 2])
  equal(lines.call.concat(lines.call).slice(3, 2).to_a, %w[aa b])
  equal(lines.call.sorted('-u').to_a, ['', '#c', 'aa', 'b'])
  equal(lines.call.to(path('zeros'), { kind: 0, delimiter: 0 }), 4)
  equal(File.read(path('zeros')), "b\0#c\0\0aa\0")
  own = { kind: 1, width: 1 }
  sink = Extmem::Sink.file('lines', path('more'), own, ctx: ctx)
  equal(sink.push(['xyz', '']).push(['w']).finish.size, 3)
  equal(File.binread(path('more')), "\3xyz\0\1w".b)
  equal(Extmem::Stream.file('lines', [path('more')], own, ctx: ctx).to_a, ['xyz', '', 'w'])
  fails('EM_ERR_NOTSUP') { lines.call.reversed }
  joined = ->(**own, &fn) { lines.call.sorted.join(lines.call.sorted, :inner, nil, **own, &fn).to_a }
  equal(joined.call { '' }, [''] * 4)
  fails(StandardError) { joined.call { nil } }
  fails('EM_ERR_INVAL') { joined.call(separator: 'ab') }
  fails('EM_ERR_NOENT') { Extmem::Stream.file('lines', path('none'), ctx: ctx).to_a }
  fails(StandardError) { lines.call.map_batches(&:itself).to_a }
  equal(fails(RuntimeError) { lines.call.filter_batches { raise 'mine' }.to_a }.message, 'mine')
end

check('streams, sinks and runs: collected in any order') do
  30.times do
    objects = lambda do
      v = Extmem::Vector.new('<Q', ctx: ctx)
      runs = Extmem::Runs.new('<Q', ctx: ctx, progress: ->(*) { runs.nil? }) { |sum| sum }
      runs.push([1, 2, 2]).finish
      sink = v.sink
      one, other = runs.merge.split(sink, Extmem::Sink.discard('<Q', ctx: ctx), &:itself).tee
      begin
        one.next_batch
      rescue Extmem::Error
        nil
      end
      [v, runs, sink, one, other, runs.merge(1, 2), v.stream]
    end.call.shuffle(random: rng)
    while objects.pop
      GC.start
    end
  end
  # What looks at itself is collected, but for what a stack still shows.
  before = ctx.memory_used
  300.times do
    s = streamed(1).map_batches { |some| s && some }.filter_batches { |some| some.map { s } }
    s.next_batch
  end
  GC.start
  equal(ctx.memory_used < before + 2_000_000, true)
end

check('what is no number, no copy, or closed is refused') do
  v = Extmem::Vector.new('<Q', ctx: ctx)
  v.push_many([1, 2])
  [true, false, 1.0, '1'].each { |no| fails(ArgumentError) { v.push(no) } }
  fails(ArgumentError) { Extmem.sort([2, 1], '<Q', ctx: ctx) { true } }
  fails(TypeError) { v.dup }
  v.each { v.clear }
  equal(v.size, 0)
  tree = Extmem::BTree.new('<Q', '<Q', ctx: ctx)
  tree[1] = 2
  fails('EM_ERR_STATE') { tree.each { tree.close } }
  equal(Extmem::Stream.new('<Q', [1], ctx: ctx).to(Pathname.new(path('to'))), 1)
end

def down = ->(a, b) { b <=> a }

check('what a block of an order shows is collected with it') do
  before = ctx.memory_used
  made = lambda do
    s = Extmem::Sorter.new('<Q', ctx: ctx) { |a, b| s && a <=> b }
    q = Extmem::PriorityQueue.new('<Q', ctx: ctx) { |a, b| q && a <=> b }
    t = Extmem::Stream.new('<Q', [3, 1, 2], ctx: ctx).sorted(Extmem::Order.new('<Q', cmp: down, ctx: ctx))
    [s.push([2, 1]), q, t]
  end
  100.times do
    kept = made.call
    GC.start
    kept[1].push_many([3, 1, 2])
    equal([kept[0].to_a, kept[1].drain.to_a, kept[2].to_a], [[1, 2], [1, 2, 3], [3, 2, 1]])
  end
  GC.start
  equal(ctx.memory_used < before + 2_000_000, true)
end
