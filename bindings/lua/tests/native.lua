-- SPDX-License-Identifier: BSL-1.0
-- What is particular to Lua, or not in the scenarios.
local extmem = require "extmem"
local t = require "harness"
local function opts(more)
	more = more or {}
	more.ctx = t.ctx
	return more
end
local function sorted(list)
	table.sort(list)
	return list
end
local function some(n, most)
	local list = {}
	for i = 1, n do
		list[i] = math.random(0, most or 1000000)
	end
	return list
end
local function collect(...)
	local list = {}
	for item in ... do
		list[#list + 1] = item
	end
	return list
end

t.test("close by scope, and for ... in", function()
	local kept
	do
		local s <close> = extmem.Sorter("<Q", opts()):push {2, 1}
		kept = s
		t.equal(collect(s:each()), {1, 2})
	end
	t.equal(kept:closed(), true)
	t.raises("EM_ERR_STATE", kept.read, kept)
end)

t.test("formats", function()
	local items = {{1, -2, 3.5, "abc"}, {255, -32768, -0.25, "xyz"}}
	for _, format in ipairs {"<Bhd3s", ">Bhd3s", "=B2xh d3s"} do
		local q = extmem.Queue(format, opts())
		q:push_many(items)
		t.equal(q:pop_many(9), items)
		t.equal(q:pop(), nil)
	end
	local q = extmem.Queue("<B", opts())
	for _, bad in ipairs {256, -1, 1.5, "1", {}} do
		t.equal(pcall(q.push, q, bad), false)
	end
	t.equal(#q, 0)
	q = extmem.Queue(">i", opts())
	for _, n in ipairs {-2147483648, 2147483647, -1} do
		q:push(n)
	end
	t.equal(pcall(q.push, q, 2147483648), false)
	t.equal(q:items(q:pop_packed(3)), {-2147483648, 2147483647, -1})
	for _, bad in ipairs {"", "<", "Z", "3", "Q0B", "-1", "<Q|Q|Q"} do
		t.equal(pcall(extmem.Queue, bad, opts()), bad == "3")
	end
	t.equal(extmem.text(extmem.unsigned("18446744073709551615")), "18446744073709551615")
	t.equal(pcall(extmem.unsigned, "18446744073709551616"), false)
	t.equal(pcall(extmem.unsigned, "-1"), false)
end)

t.test("sorting against table.sort", function()
	for _, n in ipairs {0, 1, 2, 1000, 50000} do
		local list = some(n)
		t.equal(extmem.sort(list, "<q", opts {run_records = 7777}), sorted(list))
		local packed = {}
		for i, v in ipairs(list) do
			packed[i] = string.pack("<i8", v)
		end
		t.equal(extmem.sort(table.concat(packed), "<q", opts()), table.concat(packed))
	end
	local list = some(1000)
	local by = extmem.sort(list, "<q", opts {key = function(many)
		local keys = {}
		for i, n in ipairs(many) do
			keys[i] = 1000000 - n
		end
		return keys
	end})
	table.sort(list, function(a, b) return a > b end)
	t.equal(by, list)
	t.equal(extmem.sort(list, "<q", opts {cmp = function(a, b) return a < b and -1 or a > b and 1 or 0 end}),
		sorted(list))
	local halves = {}
	for i = 1, 10 do
		halves[i] = string.pack("<I8", i)
	end
	local packed = extmem.sort({3, 1, 2}, "<Q", opts {key = function(many)
		return table.concat(halves, "", 8, 7 + #many)
	end})
	t.equal(packed, {3, 1, 2})
end)

t.test("functions that give nonsense", function()
	for _, nonsense in ipairs {{}, {1}, {1, "x", 3}, "short", 5, print} do
		local ok = pcall(extmem.sort, {3, 1, 2}, "<Q", opts {key = function() return nonsense end})
		t.equal(ok, false)
	end
	t.equal(pcall(extmem.sort, {3, 1, 2}, "<Q", opts {cmp = function() return "x" end}), false)
	local ok, e = pcall(extmem.sort, {3, 1, 2}, "<Q", opts {cmp = function() coroutine.yield() end})
	t.equal(ok, false)
	t.equal(type(e), "string")
end)

t.test("work in a coroutine", function()
	local co = coroutine.wrap(function()
		for n in extmem.Sorter("<Q", opts {cmp = function(a, b) return a - b end}):push {3, 2, 1}:each() do
			coroutine.yield(n)
		end
	end)
	t.equal({co(), co(), co()}, {1, 2, 3})
end)

t.test("a function that collects, closes and calls", function()
	local s
	s = extmem.Sorter("<Q", opts {cmp = function(a, b)
		collectgarbage()
		extmem.sort({2, 1}, "<Q", opts())
		return a - b
	end})
	t.equal(s:push({3, 1, 2}):read(), {1, 2, 3})
	s = extmem.Sorter("<Q", opts {cmp = function(a, b)
		s:close()
		return a - b
	end})
	t.equal(pcall(s.read, s:push {2, 1}), false)
	t.equal(s:closed(), true)
end)

t.test("collected in any order", function()
	for _ = 1, 20 do
		local ctx = extmem.Context {memory = "4M"}
		local tree = extmem.BTree("<Q", "<Q", {ctx = ctx})
		tree:put(1, 2)
		local objects = {ctx, tree, tree:cursor(),
			extmem.Sorter("<Q", {ctx = ctx, progress = function() return tree end}),
			extmem.Vector("<Q", {ctx = ctx}), extmem.PriorityQueue("<Q", {ctx = ctx})}
		ctx, tree = nil, nil
		while #objects > 0 do
			table.remove(objects, math.random(#objects))
			collectgarbage()
		end
	end
	-- What looks at itself is collected.
	local gone = setmetatable({}, {__mode = "k"})
	do
		local s
		s = extmem.Sorter("<Q", opts {progress = function() return s.handle == nil end})
		gone[s.handle] = true
	end
	collectgarbage()
	collectgarbage()
	t.equal(next(gone), nil)
end)

t.test("nothing is left by many", function()
	local function once()
		local s = extmem.Sorter("<Q", opts {progress = function() end})
		s:push {1}
		s:close()
		pcall(extmem.Sorter, "<Q", opts {memory = 1})
	end
	for _ = 1, 500 do
		once()
	end
	collectgarbage()
	local before, used = collectgarbage("count"), t.ctx:memory_used()
	for _ = 1, 5000 do
		once()
	end
	collectgarbage()
	t.equal(collectgarbage("count") < before + 200, true)
	t.equal(t.ctx:memory_used(), used)
end)

t.test("errors", function()
	local e = t.raises("EM_ERR_NOENT", extmem.sort_file, t.path("none"), t.path("out"), opts())
	t.equal(e.path, t.path("none"))
	t.equal(e.errno, 2)
	t.equal(tostring(e):find("none", 1, true) ~= nil, true)
	t.path("bad", ("x"):rep(12))
	t.raises("EM_ERR_FORMAT", extmem.sort_file, t.path("bad"), t.path("out"), opts {records = "<Q"})
	for _, bad in ipairs {{nonsense = 1}, {memory = "much"}, {memory = {}}, {flags = -1}, {progress = 1}} do
		t.equal(pcall(extmem.Sorter, "<Q", opts(bad)), false)
	end
	t.equal(pcall(extmem.Sorter("<Q", opts()).push, extmem.Sorter("<Q", opts()), "1234567"), false)
	t.raises("EM_ERR_RANGE", extmem.Sorter, "<Q", opts {key = "u64le@1"})
	t.equal(pcall(extmem.core.em_sorter_finish, t.ctx.handle), false)
	t.equal(pcall(extmem.core.em_sorter_finish), false)
end)

t.test("files", function()
	t.path("a", "b,2\na,10\nc,1\n")
	local stats = extmem.sort_file(t.path("a"), t.path("b"), opts {key = "-t, -k2,2n"})
	t.equal(t.read("b"), "c,1\nb,2\na,10\n")
	t.equal(stats.records_in, 3)
	t.equal(stats.json:find('"records_in": 3', 1, true) ~= nil, true)
	extmem.merge_files({t.path("b"), t.path("b")}, t.path("c"), opts {key = "-t, -k2,2n"})
	t.equal(t.read("c"), "c,1\nc,1\nb,2\nb,2\na,10\na,10\n")
	extmem.unique_file(t.path("c"), t.path("d"), opts {count = true})
	t.equal(t.read("d"), "2\ta,10\n2\tb,2\n2\tc,1\n")
	extmem.top_file(t.path("a"), t.path("e"), 1, opts {start = 1})
	t.equal(t.read("e"), "b,2\n")
	extmem.shuffle_file(t.path("a"), t.path("f"), opts {seed = 1})
	extmem.sort_file(t.path("f"), t.path("f"), opts())
	t.equal(t.read("f"), "a,10\nb,2\nc,1\n")
	local found = extmem.check_file(t.path("a"), opts())
	t.equal(found.first, "a,10")
	t.equal(extmem.check_file(t.path("f"), opts()).first, nil)
	t.path("csv", '2,"x\ny"\n1,z\n')
	extmem.sort_file(t.path("csv"), t.path("csv"), opts {key = "--csv -k1,1n"})
	t.equal(t.read("csv"), '1,z\n2,"x\ny"\n')
	local s = extmem.Sorter("lines", opts {key = "-r"})
	s:push_file(t.path("a"))
	s:push {"zz"}
	s:write_file(t.path("g"))
	t.equal(t.read("g"), "zz\nc,1\nb,2\na,10\n")
	s:clear()
	t.equal(s:push({"y", "", "x"}):read(), {"y", "x", ""})
end)

t.test("vector", function()
	local v, model = extmem.Vector("<I", opts()), some(1000)
	v:push_many(model)
	t.equal(collect(v:each()), model)
	v[5], model[5] = 7, 7
	v[1001], model[1001] = 8, 8
	local n = 0
	for i, item in ipairs(v) do
		t.equal(item, model[i])
		n = n + 1
	end
	t.equal(n, #v)
	t.equal(v[0], nil)
	t.equal(v[1002], nil)
	t.equal(pcall(function() v[1005] = 1 end), false)
	t.equal(v:items(v:read(999)), {model[999], model[1000], 8})
	t.equal(v:read_many {5, 1, 1001}, {7, model[1], 8})
	v:write(2, {1, 2})
	model[2], model[3] = 1, 2
	t.equal(v:find(function(item) return item == model[3] end) <= 3, true)
	t.equal(v:find(function() return false end), nil)
	t.equal(v:count(function() return true end), 1001)
	local sum, expected = 0, 0
	v:for_each(function(at, list)
		for i, item in ipairs(list) do
			t.equal(item, model[at + i - 1])
			sum = sum + item
		end
	end)
	for _, item in ipairs(model) do
		expected = expected + item
	end
	t.equal(sum, expected)
	v:mutate(function(_, list)
		for i, item in ipairs(list) do
			list[i] = item + 1
		end
		return list
	end)
	t.equal(v[1], model[1] + 1)
	local e = {}
	local ok, raised = pcall(v.for_each, v, function() error(e) end)
	t.equal({ok, raised == e}, {false, true})
	v:sort("-f0")
	table.sort(model, function(a, b) return a > b end)
	t.equal({v[1], v[1001]}, {model[1] + 1, model[1001] + 1})
	v:reverse()
	t.equal(v[1], model[1001] + 1)
	v:shuffle(3)
	v:sort()
	t.equal(v[1], model[1001] + 1)
	v:clear()
	t.equal(#v, 0)
end)

t.test("deque, stack, queue against a table", function()
	local d, model = extmem.Deque("<q", opts()), {}
	for _ = 1, 2000 do
		local what, item = math.random(5), math.random(1000)
		if what == 1 then
			d:push_front(item)
			table.insert(model, 1, item)
		elseif what <= 3 then
			d:push(item)
			table.insert(model, item)
		elseif what == 4 then
			t.equal(d:pop_front(), table.remove(model, 1))
		else
			t.equal(d:pop(), table.remove(model))
		end
		t.equal(#d, #model)
	end
	t.equal(collect(d:each()), model)
	local s, q = extmem.Stack("<q", opts()), extmem.Queue(8, opts())
	s:push_many {1, 2, 3}
	t.equal({s:peek(), s:pop(), s:pop_many(9), #s}, {3, 3, {1, 2}, 0})
	q:push("abcdefgh")
	q:push_many("12345678")
	t.equal({q:front(), q:back(), q:pop(), q:pop_packed(5)}, {"abcdefgh", "12345678", "abcdefgh", "12345678"})
	t.equal(pcall(q.push, q, "short"), false)
	t.equal(s:stats().records, 0)
end)

t.test("priority queues", function()
	local q, list = extmem.PriorityQueue("<qI", opts {key = "-f0", stable = true}), {}
	for i = 1, 1000 do
		list[i] = {math.random(50), i}
		q:push(list[i])
	end
	table.sort(list, function(a, b) return a[1] > b[1] or a[1] == b[1] and a[2] < b[2] end)
	t.equal({q:top(), #q}, {list[1], 1000})
	local first = q:pop_until({40, 0}, 5000)
	for i, item in ipairs(first) do
		t.equal(item, list[i])
	end
	t.equal(list[#first][1] > 40 and list[#first + 1][1] <= 40, true)
	t.equal(q:pushpop({99, 1}), {99, 1})
	t.equal(q:items(q:next_batch())[1], list[#first + 1])
	local r = extmem.RadixHeap(">IH", opts {key = "f1"})
	r:push_many {{1, 7}, {2, 3}}
	t.equal({r:pop(), r:last(), r:top()}, {{2, 3}, 3, {1, 7}})
end)

t.test("tree against a table", function()
	local tree, model = extmem.BTree(">IH", "<d4s", opts()), {}
	for _ = 1, 1000 do
		local a, b = math.random(20), math.random(10)
		local at = a * 100 + b
		if math.random(3) == 1 then
			t.equal(tree:erase {a, b}, model[at] ~= nil)
			model[at] = nil
		else
			model[at] = {math.random(), "four"}
			tree:put({a, b}, model[at])
		end
		t.equal(tree:get {a, b}, model[at])
	end
	local n, last = 0, 0
	for key, value in pairs(tree) do
		local at = key[1] * 100 + key[2]
		t.equal(value, model[at])
		t.equal(at > last, true)
		n, last = n + 1, at
	end
	t.equal(n, #tree)
	local forth, back = collect(tree:each({5, 0}, {7, 5})), collect(tree:each({5, 0}, {7, 5}, true))
	for i, key in ipairs(forth) do
		t.equal(key, back[#back + 1 - i])
		t.equal(key[1] >= 5 and (key[1] < 7 or key[1] == 7 and key[2] < 5), true)
	end
	t.equal(tree:count({5, 0}, {7, 4}), #forth)
	t.equal(#collect(tree:each(nil, nil, true)), #tree)
	tree:verify()
	tree:save(t.path("tree"))
	local saved = extmem.BTree(">IH", "<d4s", opts {path = t.path("tree")})
	t.equal({saved:first()}, {tree:first()})
	t.equal({saved:last()}, {tree:last()})
	t.equal(tree:erase_range({5, 0}, {7, 5}), #forth)
	t.equal(#tree, #saved - #forth)
	local bytes = extmem.BTree(2, 3, opts())
	bytes:put("ab", "xyz")
	t.equal(bytes:get "ab", "xyz")
	local loaded = extmem.BTree("<Q", "<Q", opts())
	loaded:load(extmem.Sorter("<QQ", opts {key = loaded.order}):push {{3, 9}, {1, 1}})
	t.equal({loaded:get(3), loaded:get(1), #loaded}, {9, 1, 2})
	local c = loaded:cursor()
	t.equal({c:seek(2, extmem.core.EM_BTREE_GE), c:get(), c:next(), c:prev()}, {0, {3, 9}, nil, {3, 9}})
	c:erase()
	t.equal(#loaded, 1)
end)

t.test("ranges of a tree by a function", function()
	local tree = extmem.BTree(">IH", "<d", opts {leaf_bytes = 4096})
	for i = 1, 1000 do
		tree:put({i // 10, i % 10}, i / 2)
	end
	local function visited(from, to)
		local keys, values, calls = {}, {}, 0
		tree:for_each(function(at, list)
			t.equal(at, #keys + 1)
			calls = calls + 1
			for _, item in ipairs(list) do
				keys[#keys + 1], values[#values + 1] = item[1], item[2]
			end
		end, from, to)
		t.equal(keys, collect(tree:each(from, to)))
		t.equal(values[1], keys[1] and tree:get(keys[1]))
		t.equal(values[#keys], keys[1] and tree:get(keys[#keys]))
		return #keys, calls
	end
	local n, calls = visited()
	t.equal({n, calls > 1}, {1000, true})
	t.equal(visited({5, 0}, {70, 5}), 655)
	t.equal({(visited(nil, {0, 5})), (visited({99, 9})), (visited({7, 5}, {5, 0}))}, {4, 2, 0})
	local e = {}
	local ok, raised = pcall(tree.for_each, tree, function() error(e) end)
	t.equal({ok, raised == e}, {false, true})
	t.equal(pcall(tree.for_each, tree, function() end, {1}), false)
	local set, keys = extmem.BTree("<Q", nil, opts()), {}
	set:upsert_many {3, 1, 2}
	set:for_each(function(_, list) keys = list end, 2)
	t.equal(keys, {2, 3})
end)

t.test("many ranges of a tree by a function", function()
	local tree, from, to = extmem.BTree("<Q", "<d", opts {leaf_bytes = 4096}), {1200, 7, 101}, {1999, 7, 1301}
	for i = 1, 1000 do
		tree:put(2 * i, i / 2)
	end
	local function visited(some, others)
		local seen, wanted = {{}, {}, {}}, {}
		tree:for_each_many(function(i, list)
			table.move(list, 1, #list, #seen[i] + 1, seen[i])
		end, some, others)
		for i = 1, 3 do
			wanted[i] = {}
			for key, value in tree:each(some and from[i], others and to[i]) do
				table.insert(wanted[i], {key, value})
			end
		end
		t.equal(seen, wanted)
	end
	visited(from, to)
	visited(string.pack("<I8I8I8", table.unpack(from)), to)
	visited(from)
	visited(nil, to)
	local e = {}
	local ok, raised = pcall(tree.for_each_many, tree, function() error(e) end, from, to)
	t.equal({ok, raised == e}, {false, true})
	e = t.raises("EM_ERR_INVAL", tree.for_each_many, tree, error, from, {4, 5})
	t.equal(tostring(e), "3 ranges begin, and 2 end")
	t.raises("EM_ERR_INVAL", tree.for_each_many, tree, error)
	t.equal(pcall(tree.for_each_many, tree, error, from, {1, 2, "x"}), false)
end)

t.test("log, contexts, statistics", function()
	local lines = {}
	local ctx <close> = extmem.Context {memory = "4M", dirs = {t.dir}, log = function(_, line)
		lines[#lines + 1] = line
	end}
	extmem.sort({2, 1}, "<Q", {ctx = ctx})
	t.equal(#lines > 0, true)
	t.equal(ctx:memory(), 4 << 20)
	local text <close> = extmem.Context("memory=8M,threads=1")
	t.equal(text:threads(), 1)
	t.equal(type(text:stats().reads), "number")
	ctx:cancel()
	t.raises("EM_ERR_CANCELED", extmem.sort, {2, 1}, "<Q", {ctx = ctx})
end)

local function stream(...)
	return extmem.Stream("<Q", {...}, opts())
end

t.test("streams: nodes", function()
	t.equal(stream(1, 2, 3):filter(function(list)
		local keep = {}
		for i, n in ipairs(list) do
			keep[i] = n ~= 2
		end
		return keep
	end):read(), {1, 3})
	t.equal(stream(1, 2):flat_map(function(list)
		local out = {}
		for _, n in ipairs(list) do
			out[#out + 1], out[#out + 2] = {n, -n}, {n, n}
		end
		return out
	end, "<qq"):read(), {{1, -1}, {1, 1}, {2, -2}, {2, 2}})
	local seen = 0
	t.equal(stream(1, 1, 2):inspect(function(list) seen = seen + #list end):reduce(function(sum, list)
		for _, n in ipairs(list) do
			sum = sum + n
		end
		return sum
	end):read(), {2, 2})
	t.equal(seen, 3)
	t.equal(stream(7, 7):unique(nil, "<QQ"):read(), {{7, 2}})
	t.equal(stream(1, 2):concat(stream(9), stream(8)):slice(1, 2):reverse():read(), {9, 2})
	t.equal(stream(1, 5):merge({stream(2), stream(3)}):read(), {1, 2, 3, 5})
	t.equal(stream(1, 5):zip({stream(2)}, "<QQ"):read(), {{1, 2}})
	t.equal(stream(1, 2, 3):window(2, 1, "<QQ"):read(), {{1, 2}, {2, 3}})
	t.equal(stream(1, 2, 2):join(stream(2, 3), "left", "f0", "f0", "<Q", function(a, b)
		return 10 * a + (b or 0)
	end):read(), {10, 22, 22})
	t.equal(stream(1, 2):join(stream(2), "inner", nil, nil, "<QQ"):read(), {{2, 2}})
	local a, b = stream(4, 1):tee(true)
	a:batch(1)
	t.equal(a:read(), {4, 1})
	t.equal(b:prefix_sum():read(), {4, 5})
	t.equal(stream(1, 2):map(function() return "123456789" end).handle ~= nil, true)
	t.raises("EM_ERR_USER", function() stream(1):map(function() return "123" end):read() end)
end)

t.test("streams: where they come from and go to", function()
	local v, s = extmem.Vector("<Q", opts()), extmem.Sorter("<Q", opts())
	t.equal({stream(7, 8):to(v), v[2]}, {2, 8})
	t.equal(extmem.Stream("<Q", s:push({3, 1}):batches(), opts()):to(v), 2)
	t.equal(v[4], 3)
	t.equal(stream(5):to(t.path("out")), 1)
	t.equal(extmem.stream_file("<Q", {t.path("out"), t.path("out")}, opts()):read(), {5, 5})
	for _, name in ipairs {"Stack", "Queue", "Deque", "PriorityQueue"} do
		local c = extmem[name]("<Q", opts())
		t.equal({stream(5, 6):to(c), #c}, {2, 2})
	end
	local tree = extmem.BTree("<Q", nil, opts())
	t.equal({stream(5, 6):to(tree), #tree}, {2, 2})
end)

t.test("streams: owners, and ends half-way", function()
	local function endless()
		return extmem.Stream("<Q", function() return {1} end, opts())
	end
	local input = endless()
	local node = input:slice(1)
	t.raises("EM_ERR_STATE", input.next_batch, input)
	t.equal(input:closed(), true)
	input:close()
	t.equal(node:items(node:next_batch()), {1})
	t.raises("EM_ERR_INVAL", node.merge, node, {node})
	t.equal(node:items(node:next_batch()), {1})
	for _ = 1, 50 do
		local a, b = endless():map(function(x) return x end)
			:concat(endless():filter(function() return {true} end)):tee()
		a:next_batch()
		b:next_batch()
		a:close()
		if _ % 2 == 0 then
			b:close()
		end
	end
	collectgarbage()
	local self
	self = endless():map(function(x)
		self:close()
		return x
	end)
	t.raises("EM_ERR_STATE", self.next_batch, self)
	local again
	again = endless():map(function() return again:next_batch() end)
	t.raises("EM_ERR_BUSY", again.next_batch, again)
end)

t.test("runs", function()
	local runs, model = extmem.Runs("<q", opts {memory = "1M", run_records = 500}), some(3000, 500)
	runs:push(model):finish()
	table.sort(model)
	local all, part = runs:merge(), runs:merge(100, 200)
	t.equal(all:next_batch() ~= nil, true)
	for item in part:each() do
		t.equal(item >= 100 and item < 200, true)
	end
	t.equal(runs:stats().readers, 1)
	t.raises("EM_ERR_STATE", runs.clear, runs)
	all:close()
	t.equal(runs:merge():read(), model)
	t.equal(runs:merge(nil, nil, 5, 2):read(), {model[6], model[7]})
	t.equal(runs:merge(nil, nil, 5, 0):read(), {})
	t.raises("EM_ERR_STATE", runs.push, runs, {1})
	runs:clear()
	runs:append {1, 5}
	runs:append {7}
	runs:end_run()
	t.raises("EM_ERR_FORMAT", runs.append, runs, {5, 2})
	runs:feed(stream(9, 8)):feed(stream(2, 3), true)
	local sink = runs:sink()
	sink:push {0}:finish()
	t.equal(#sink, 1)
	t.equal(runs:merge():read(), {0, 1, 2, 3, 5, 7, 8, 9})
	t.equal(runs:stats().pushed, 8)
end)

t.test("runs that combine, and watch", function()
	local list, counts, told = {}, {}, 0
	for i = 1, 20000 do
		local key = math.random(0, 20)
		list[i], counts[key] = {key, 1}, (counts[key] or 0) + 1
	end
	local function add(first, more)
		for _, item in ipairs(more) do
			first[2] = first[2] + item[2]
		end
		return first
	end
	local runs = extmem.Runs("<qq", opts {key = "f0", combine = add, run_records = 1000, progress = function()
		told = told + 1
	end})
	runs:push(list):finish()
	local reduced = extmem.Stream("<qq", list, opts()):sort_reduce(add, "f0")
	for _, of in ipairs {runs:merge(), reduced} do
		local n = 0
		for item in of:each() do
			t.equal(item[2], counts[item[1]])
			n = n + 1
		end
		t.equal(n, 21)
	end
	t.equal(reduced:runs_info().pushed, 20000)
	t.equal(reduced:graph_info().sorts, 1)
	local bad = extmem.Runs("<q", opts {combine = function() error("mine", 0) end})
	bad:push {1, 1}
	local ok, e = pcall(bad.finish, bad)
	t.equal({ok, e}, {false, "mine"})
	t.raises("EM_ERR_USER", bad.finish, bad)
	bad:clear()
	bad:push({1}):finish()
	-- What is merged lives without its runs, and so does its function.
	runs = extmem.Runs("<qq", opts {key = "f0", combine = add, run_records = 2})
	local merged = runs:push({{3, 1}, {3, 1}, {1, 1}, {3, 1}, {1, 1}}):finish():merge()
	runs = nil
	collectgarbage()
	collectgarbage()
	t.equal(merged:read(), {{1, 2}, {3, 3}})
end)

t.test("streams on containers, and sinks", function()
	for _ = 1, 10 do
		local v = extmem.Vector("<q", opts())
		v:push_many {1, 2, 3, 4}
		local order = {v, v:stream(2), v:stream(1, 3, true), v:sink(2)}
		t.equal(order[2]:read(), {2, 3, 4})
		t.equal(order[3]:read(), {3, 2, 1})
		order[4]:push {9, 8}:finish()
		t.equal(v[2], 9)
		local used = t.ctx:memory_used()
		while #order > 0 do
			table.remove(order, math.random(#order)):close()
		end
		t.equal(v:closed(), true)
		t.equal(t.ctx:memory_used() < used, true)
	end
	local v = extmem.Vector("<q", opts())
	v:push(5)
	local s = v:stream()
	v:close()
	t.raises("EM_ERR_STATE", v.push, v, 1)
	t.equal(s:read(), {5})
	v = extmem.Vector("<q", opts())
	v:push(5)
	s = v:stream():map(function(list)
		v:close()
		v = nil
		collectgarbage()
		return list
	end)
	t.equal(s:read(), {5})
	local tree = extmem.BTree("<q", "<q", opts())
	local sink = tree:sink()
	sink:push {{1, 10}, {2, 20}, {3, 30}}:finish()
	t.equal(tree:stream(2):read(), {{2, 20}, {3, 30}})
	t.equal(tree:stream(nil, 2):map(function() return {7} end, "<q"):read(), {7})
	local sorter = extmem.Sorter("<q", opts())
	sorter:sink():push {2, 1}:finish()
	t.equal(sorter:stream():read(), {1, 2})
	for _, name in ipairs {"Stack", "Queue", "Deque", "PriorityQueue"} do
		local c = extmem[name]("<Q", opts())
		c:sink():push {5, 6}
		local got = c:stream():read()
		table.sort(got)
		t.equal(got, {5, 6})
	end
	local got, ended = {}, 0
	sink = extmem.Sink("<q", function(list)
		ended = ended + (list and 0 or 1)
		for _, n in ipairs(list or {}) do
			got[#got + 1] = n
		end
	end, opts())
	t.equal({stream(4, 5):to(sink), stream(6):to(sink), #sink}, {2, 1, 3})
	sink:finish()
	t.equal({got, ended}, {{4, 5, 6}, 1})
	t.raises("EM_ERR_STATE", sink.push, sink, {1})
	sink = extmem.Sink("<q", function() error("mine", 0) end, opts())
	local ok, e = pcall(sink.push, sink, {1})
	t.equal({ok, e}, {false, "mine"})
	t.raises("EM_ERR_USER", sink.push, sink, {1})
	sink = extmem.sink_file("<q", t.path("sunk"), opts())
	sink:push {1, 2}:finish()
	t.equal(#t.read("sunk"), 16)
	t.equal(stream(1, 2):to(extmem.sink_discard("<Q", opts())), 2)
end)

t.test("split", function()
	local odd, third = extmem.Vector("<Q", opts()), extmem.Sorter("<Q", opts())
	local list, to_odd, to_third = some(2000), odd:sink(), third:sink()
	local s = extmem.Stream("<Q", list, opts()):split(function(many)
		for i, n in ipairs(many) do
			many[i] = n % 3 == 0 and 2 or n % 2
		end
		return many
	end, to_odd, to_third)
	local rest, counts = s:read(), {0, 0, 0}
	to_odd:finish()
	for _, n in ipairs(list) do
		local to = n % 3 == 0 and 3 or n % 2 + 1
		counts[to] = counts[to] + 1
	end
	t.equal({#rest, #odd, #third}, counts)
	for _, item in ipairs(third:read()) do
		t.equal(item % 3, 0)
	end
	for _, bad in ipairs {{3}, {-1}, {"x"}, {}, {0, 0}, "x"} do
		local node = stream(1):split(function() return bad end, extmem.sink_discard("<Q", opts()))
		t.equal(pcall(node.read, node), false)
	end
	local node
	node = stream(1):split(function() error("mine", 0) end, extmem.sink_discard("<Q", opts()))
	local ok, e = pcall(node.read, node)
	t.equal({ok, e}, {false, "mine"})
	t.raises("EM_ERR_INVAL", stream(1).split, stream(1), print)
	-- Sinks that are gone, and what they are on, too.
	local gone = extmem.Vector("<Q", opts())
	node = stream(1, 2):split(function() return {0, 1} end, gone:sink())
	gone = nil
	collectgarbage()
	t.equal(node:read(), {1})
end)

t.test("records of any length", function()
	t.path("lines", "b\n#c\n\naa\n")
	local function lines()
		return extmem.stream_file("lines", t.path("lines"), opts())
	end
	t.equal(lines():read(), {"b", "#c", "", "aa"})
	local seen = {}
	t.equal(lines():filter(function(list)
		for i, line in ipairs(list) do
			list[i] = line:sub(1, 1) ~= "#"
		end
		return list
	end):inspect(function(list)
		for _, line in ipairs(list) do
			seen[#seen + 1] = line
		end
	end):sort("-r"):to(t.path("sorted")), 3)
	t.equal({t.read("sorted"), seen}, {"b\naa\n\n", {"b", "", "aa"}})
	t.equal(lines():map(function(list)
		for i, line in ipairs(list) do
			list[i] = #line
		end
		return list
	end, "<Q"):sort():read(), {0, 1, 2, 2})
	t.equal(lines():concat(lines()):slice(3, 2):read(), {"aa", "b"})
	t.equal(lines():sort("-u"):read(), {"", "#c", "aa", "b"})
	local zero = {kind = 0, delimiter = 0}
	t.equal(lines():to(t.path("zeros"), zero), 4)
	t.equal(t.read("zeros"), "b\0#c\0\0aa\0")
	local sink = extmem.sink_file("lines", t.path("more"), opts {format = {kind = 1, width = 1}})
	sink:push {"xyz", ""}:push {"w"}:finish()
	t.equal({t.read("more"), #sink}, {"\3xyz\0\1w", 3})
	local prefixed = opts {format = {kind = 1, width = 1}}
	t.equal(extmem.stream_file("lines", {t.path("more")}, prefixed):read(), {"xyz", "", "w"})
	t.raises("EM_ERR_NOTSUP", function() return lines():reverse() end)
	local function joined(...) return lines():sort():join(lines():sort(), "inner", nil, nil, nil, ...):read() end
	t.equal(joined(function() return "" end), {"", "", "", ""})
	t.equal(pcall(joined, function() end), false)
	t.raises("EM_ERR_INVAL", joined, nil, "ab")
	t.raises("EM_ERR_INVAL", function() return lines():join(extmem.Stream("<Q", {1}, opts()), "inner") end)
	t.raises("EM_ERR_NOENT", function() return extmem.stream_file("lines", t.path("none"), opts()):read() end)
	t.equal(pcall(function() return lines():map(function(list) return list end):read() end), false)
	local function made(answer)
		local s = lines()
		s:batch(1)
		return s:flat_map(function(list) return answer(list[1]) end):read()
	end
	t.equal(made(function(line) return #line < 2 and {line, "x"} or nil end), {"b", "x", "", "x"})
	t.equal(pcall(made, function() return {{}} end), false)
	t.equal(pcall(made, function() return "no list" end), false)
	local ok, e = pcall(function() return lines():filter(function() error("mine", 0) end):read() end)
	t.equal({ok, e}, {false, "mine"})
end)

t.test("streams, sinks and runs: collected in any order", function()
	for _ = 1, 30 do
		local v, runs = extmem.Vector("<Q", opts()),
			extmem.Runs("<Q", opts {combine = function(a) return a end})
		runs:push {1, 2, 2}
		runs:finish()
		local sink = v:sink()
		local split = runs:merge():split(function(many) return many end, sink,
			extmem.sink_discard("<Q", opts()))
		local a, b = split:tee()
		local objects = {v, runs, sink, a, b, runs:merge(1, 2), v:stream()}
		v, runs, sink, split = nil, nil, nil, nil
		local pulled = pcall(a.next_batch, a)
		a, b = nil, nil
		t.equal(type(pulled), "boolean")
		while #objects > 0 do
			table.remove(objects, math.random(#objects))
			collectgarbage()
		end
	end
	local used = t.ctx:memory_used()
	collectgarbage()
	t.equal(t.ctx:memory_used() <= used, true)
	-- Runs that look at themselves are collected.
	local gone = setmetatable({}, {__mode = "k"})
	do
		local runs
		runs = extmem.Runs("<Q", opts {combine = function() return runs end,
			progress = function() return runs == nil end})
		gone[runs.handle] = true
	end
	collectgarbage()
	collectgarbage()
	t.equal(next(gone), nil)
end)

t.test("what is no number or position is refused", function()
	local v = extmem.Vector("<Q", opts())
	v:push_many {1, 2}
	v[2.0] = 7
	t.equal({v[2], v[1.0], v[1.5], rawget(v, 2)}, {7, 1})
	for _, no in ipairs {true, "1", 0.5} do
		t.equal(pcall(v.push, v, no), false)
	end
	t.equal(pcall(function() v[1.5] = 1 end), false)
	t.equal(pcall(extmem.sort, {3, 1, 2}, "<Q", opts {cmp = function(a, b) return a < b end}), false)
	for _ in v:each() do
		v:clear()
	end
	local tree = extmem.BTree("<Q", "<Q", opts())
	tree:put(1, 2)
	local more = tree:each()
	tree:close()
	t.raises("EM_ERR_STATE", more)
end)

t.test("what was dropped makes room for what is made", function()
	local own <close> = extmem.Context {memory = "8M"}
	collectgarbage("stop")
	for _ = 1, 1000 do
		extmem.Sorter("<Q", {ctx = own, memory = "1M"})
		extmem.Vector("<Q", {ctx = own})
		extmem.BTree("<Q", "<Q", {ctx = own})
	end
	collectgarbage("restart")
end)

t.test("a finalizer may come after that of what it uses", function()
	local closed
	local late = setmetatable({}, {__gc = function(self)
		self.v:close()
		self.v:cancel()
		closed = self.v:closed() and not pcall(self.v.push, self.v, 1)
	end})
	late.v = extmem.Vector("<Q", opts())
	late = nil
	collectgarbage()
	collectgarbage()
	t.equal(closed, true)
end)
