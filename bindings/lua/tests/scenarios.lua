-- SPDX-License-Identifier: BSL-1.0
-- The scenarios that the tests of all languages run: bindings/scenarios.txt.
local extmem = require "extmem"
local t = require "harness"
local run = {}
local FORMATS = {u64 = "<Q", i64 = "<q", u32 = "<I", i32 = "<i"}

local function numbers(text)
	local list = {}
	for word in text:gmatch("[-%d]*%d") do
		list[#list + 1] = word:sub(1, 1) == "-" and math.tointeger(word) or extmem.unsigned(word)
	end
	return list
end
local function words(text)
	local list = {}
	for word in text:gmatch("[^|]+") do
		list[#list + 1] = word
	end
	return list
end
local function opts(t_)
	t_ = t_ or {}
	t_.ctx = t.ctx
	return t_
end
local function sorter(format, many, more)
	return extmem.Sorter(format, opts(more)):push(many)
end
local function drained(q)
	local list = {}
	for item in q:drain() do
		list[#list + 1] = item
	end
	return list
end
local function fail()
	error({mine = true})
end

function run.sort(spec, list)
	return sorter(FORMATS[spec], numbers(list)):read()
end
function run.sort2(name, first, second, expected)
	local a, b, pairs_, left, right = numbers(first), numbers(second), {}, {}, {}
	for i in ipairs(a) do
		pairs_[i] = {a[i], b[i]}
	end
	for i, pair in ipairs(sorter("<QQ", pairs_, {key = name}):read()) do
		left[i], right[i] = pair[1], pair[2]
	end
	t.equal(left, numbers(expected))
	return right
end
function run.unique(spec, list)
	return sorter(FORMATS[spec], numbers(list), {unique = true}):read()
end
function run.top(spec, k, list)
	return extmem.Top(FORMATS[spec], math.tointeger(k), opts()):push(numbers(list)):read()
end
function run.lines(keys, text)
	return table.concat(sorter("lines", words(text), {key = keys}):read(), "|")
end
function run.heap(spec, list)
	local q = extmem.PriorityQueue(FORMATS[spec], opts())
	for _, n in ipairs(numbers(list)) do
		q:push(n)
	end
	return drained(q)
end
function run.radix(list)
	local q = extmem.RadixHeap("<Q", opts())
	q:push_many(numbers(list))
	return drained(q)
end
function run.late(pushes, pops, late)
	local q = extmem.RadixHeap("<Q", opts())
	q:push_many(numbers(pushes))
	for _ = 1, pops do
		q:pop()
	end
	q:push(numbers(late)[1])
end
function run.tree(keys, erased)
	local tree, list = extmem.BTree("<Q", "<Q", opts()), {}
	for _, key in ipairs(numbers(keys)) do
		tree:put(key, 2 * key)
	end
	for _, key in ipairs(numbers(erased)) do
		t.equal(tree:erase(key), true)
	end
	for key, value in pairs(tree) do
		t.equal(value, 2 * key)
		list[#list + 1] = key
	end
	return list
end
function run.range(keys, from, to)
	local tree, list = extmem.BTree("<Q", nil, opts()), {}
	for _, key in ipairs(numbers(keys)) do
		tree:put(key)
	end
	for key in tree:each(numbers(from)[1], numbers(to)[1]) do
		list[#list + 1] = key
	end
	return list
end
function run.vector(list)
	local path, bytes = t.path("vector"), {}
	do
		local v <close> = extmem.Vector("<Q", opts {path = path, mode = "w"})
		v:push_many(numbers(list))
		v:flush()
	end
	local data = io.open(path, "rb"):read("a")
	for at = 1, #data, 8 do
		bytes[#bytes + 1] = string.unpack("<I8", data, at)
	end
	local v <close> = extmem.Vector("<Q", opts {path = path, mode = "r"})
	local items = {}
	for item in v:each() do
		items[#items + 1] = item
	end
	t.equal(items, numbers(list))
	return bytes
end
function run.callback(where)
	local s = extmem.Sorter("<Q", opts {run_records = 1000, [where] = fail})
	local ok, e
	-- Progress is told five times a second at least: so this goes on until that is so.
	repeat
		ok, e = pcall(function()
			s:push(t.random(8 * 300000))
			if where ~= "progress" then
				s:finish()
			end
		end)
	until not ok
	t.equal(e, {mine = true})
	s:push({1})
end
function run.full(limit, n)
	local ctx <close> = extmem.Context {memory = "4M", scratch_max = math.tointeger(limit)}
	local s = extmem.Sorter("<Q", {ctx = ctx})
	s:push(t.random(8 * n))
	s:finish()
end
function run.memory(limit)
	return extmem.Context {memory = math.tointeger(limit)}
end
function run.closed(what)
	local make = {sorter = extmem.Sorter, vector = extmem.Vector, tree = extmem.BTree, heap = extmem.PriorityQueue}
	local x = what == "tree" and make.tree("<Q", nil, opts()) or make[what]("<Q", opts())
	x:close()
	x:close()
	t.equal(x:closed(), true)
	if what == "tree" then
		return x:get(1)
	end
	return x:push(what == "sorter" and {1} or 1)
end
function run.misorder(list)
	local s = sorter("<Q", numbers(list))
	t.raises("EM_ERR_STATE", s.next_batch, s)
	return s:read()
end
function run.reentry(what)
	local failed, s
	s = extmem.Sorter("<Q", opts {run_records = 1000, progress = function()
		local ok, e = pcall(s[what], s, {1})
		failed = failed or not ok and e
	end})
	repeat
		s:push(("\0"):rep(8 * 300000))
	until failed
	error(failed, 0)
end
-- A batch is a copy, which nothing takes away.
function run.batch(list)
	local s = sorter("<Q", numbers(list)):finish()
	local batch = s:next_batch()
	t.equal(s:next_batch(), nil)
	t.equal(#s:items(batch), #numbers(list))
	return "copied"
end
-- What loops have seen that are left at the first and at the second item, then a batch, then another loop.
local function left(s)
	local seen = {}
	for stop = 1, 2 do
		local n = 0
		for item in s:each() do
			seen[#seen + 1], n = item, n + 1
			if n == stop then
				break
			end
		end
	end
	local batch = s:next_batch()
	table.move(type(batch) == "string" and s:items(batch) or batch, 1, 100, #seen + 1, seen)
	table.move(s:read(), 1, 100, #seen + 1, seen)
	return seen
end
function run.leave(what, list)
	if what == "stream" then
		return left(extmem.Stream("<Q", numbers(list), opts()))
	elseif what == "top" then
		return left(extmem.Top("<Q", 100, opts()):push(numbers(list)))
	end
	return left(sorter("<Q", numbers(list)))
end
function run.lineleave(text)
	local lines = {}
	for line in (text .. "|"):gmatch("([^|]*)|") do
		lines[#lines + 1] = line
	end
	return table.concat(left(sorter("lines", lines)), "|")
end
function run.missing(name)
	return extmem.sort_file(t.path(name), t.path("out"), opts())
end
local function stream(list)
	return extmem.Stream("<Q", numbers(list), opts())
end
function run.stream(list)
	return stream(list):map(function(some)
		for i, n in ipairs(some) do
			some[i] = n + 1
		end
		return some
	end):sort():unique():read()
end
function run.set(operation, first, second)
	return stream(first):set(operation, stream(second)):read()
end
function run.broken(list)
	local s = stream(list):map(fail)
	local ok, e = pcall(s.next_batch, s)
	t.equal({ok, e}, {false, {mine = true}})
	s:next_batch()
end
function run.told(some)
	local function endless(fn)
		return extmem.Stream("<Q", function() return ("\0"):rep(8 * some) end, opts()):progress(fn)
	end
	local function pull(s)
		while true do
			s:next_batch()
		end
	end
	t.raises("EM_ERR_CANCELED", pull, endless(function(phase, done, total)
		return phase == 1 and done % some == 0 and total == 0
	end))
	local s = endless(fail)
	local ok, e = pcall(pull, s)
	t.equal({ok, e}, {false, {mine = true}})
	s:next_batch()
end
function run.split(list)
	local q = extmem.Queue("<Q", opts())
	local all = stream(list):split(function(some)
		for i, n in ipairs(some) do
			some[i] = n & 1
		end
		return some
	end, q:sink()):read()
	return table.move(drained(q), 1, #q + #numbers(list), #all + 1, all)
end
local function runs(list, more)
	return extmem.Runs("<Q", opts(more)):push(numbers(list))
end
function run.runs(pushed, sorted, from, to, skip, take)
	local r = runs(pushed)
	r:append(numbers(sorted))
	return r:finish():merge(numbers(from)[1], numbers(to)[1], numbers(skip)[1], numbers(take)[1]):read()
end
function run.twice(list)
	local r, all = runs(list):finish(), {}
	local a, b = r:merge():each(), r:merge():each()
	all[1], all[2] = a(), b()
	r:close()
	for item in a do
		all[#all + 1], all[#all + 2] = item, b()
	end
	return all
end
function run.early(list)
	local r = runs(list)
	local s = r:merge()
	t.raises("EM_ERR_STATE", s.next_batch, s)
	r:finish()
	return s:read()
end
local function add(sum, more)
	for _, item in ipairs(more) do
		sum[2] = sum[2] + item[2]
	end
	return sum
end
local function counted(keys, counts)
	local list, n = {}, numbers(counts)
	for i, key in ipairs(numbers(keys)) do
		list[i] = {key, n[i]}
	end
	return list
end
local function flat(s)
	local all = {}
	for item in s:each() do
		all[#all + 1], all[#all + 2] = item[1], item[2]
	end
	return all
end
function run.combine(keys, counts)
	local r = extmem.Runs("<QQ", opts {key = "f0", combine = add})
	return flat(r:push(counted(keys, counts)):finish():merge())
end
function run.totals(keys, counts)
	return flat(extmem.Stream("<QQ", counted(keys, counts), opts()):sort_reduce(add, "f0"))
end
function run.sour(list)
	local r = runs(list, {combine = fail})
	local ok, e = pcall(r.finish, r)
	t.equal({ok, e}, {false, {mine = true}})
	r:push {1}
end
local function file(text, name)
	return extmem.stream_file("lines", t.path(name or "lines", text:gsub("|", "\n") .. "\n"), opts())
end
local function told(lines) return table.concat(lines:read(), "|") end
function run.text(keys, text)
	file(text):filter(function(some)
		for i, line in ipairs(some) do
			some[i] = line:sub(1, 1) ~= "#"
		end
		return some
	end):sort(keys):to(t.path("out"))
	return (t.read("out"):gsub("\n$", ""):gsub("\n", "|"))
end
function run.lengths(text)
	return file(text):map(function(some)
		for i, line in ipairs(some) do
			some[i] = #line
		end
		return some
	end, "<Q"):read()
end

function run.linejoin(kind, left, right, separator, first, second)
	separator = separator ~= "-" and separator or nil
	return told(file(first):join(file(second, "right"), kind, left, right, nil, nil, separator))
end
function run.linepairs(kind, left, right, first, second)
	return told(file(first):join(file(second, "right"), kind, left, right, nil, function(a, b)
		return (a or "-") .. "+" .. (b or "-")
	end))
end
function run.linesour(text)
	local s = file(text):join(file(text, "right"), "inner", nil, nil, nil, fail)
	local ok, e = pcall(s.next_batch, s)
	t.equal({ok, e}, {false, {mine = true}})
	s:next_batch()
end
function run.linetee(text)
	local a, b = file(text):tee(true)
	return told(a) .. "|" .. told(b)
end
function run.lineset(operation, first, second)
	return told(file(first):set(operation, file(second, "right")))
end
function run.linesum(keys, text)
	return told(file(text):reduce(function(sum, more) return sum .. "+" .. table.concat(more, "+") end, keys))
end
function run.linewords(text)
	return told(file(text):flat_map(function(some)
		local words = {}
		for _, line in ipairs(some) do
			for word in line:gmatch("[^ ]+") do
				words[#words + 1] = word
			end
		end
		return words
	end))
end
function run.linesplit(text)
	local sent = extmem.sink_file("lines", t.path("sent"), opts())
	local stays = told(file(text):split(function(some)
		for i, line in ipairs(some) do
			some[i] = line:sub(1, 1) == "#" and 1 or 0
		end
		return some
	end, sent))
	sent:finish()
	return stays .. "|" .. t.read("sent"):gsub("\n$", ""):gsub("\n", "|")
end
function run.linecount(keys, first, second)
	return (told(file(first):merge({file(second, "right")}, keys):unique(keys, "lines")):gsub("\t", ":"))
end

for line in io.lines(os.getenv("EM_SRCDIR") .. "/bindings/scenarios.txt") do
	local fields = {}
	for field in (line .. "\t"):gmatch("([^\t]*)\t") do
		fields[#fields + 1] = field
	end
	if line:sub(1, 1) ~= "#" then
		local name, kind, expected = fields[1], fields[2], fields[#fields]
		t.test(name, function()
			local arguments = {table.unpack(fields, 3, #fields - 1)}
			local f = assert(run[kind], "there is no scenario " .. kind)
			if expected:sub(1, 1) == "!" and kind ~= "batch" then
				t.raises(expected:sub(2), f, table.unpack(arguments))
				return
			end
			local result = f(table.unpack(arguments))
			t.equal(result, kind == "batch" and "copied"
				or type(result) == "string" and expected or numbers(expected))
		end)
	end
end
