-- SPDX-License-Identifier: BSL-1.0
-- External memory: sorting and containers for more records than memory holds, on the disks of libextmem.
--
--   local extmem = require "extmem"
--   for n in extmem.Sorter("<Q"):push({3, 1, 2}):each() do print(n) end
--   extmem.sort_file("in.csv", "out.csv", {key = "-t, -k2,2nr"})
--
-- Records are "lines", or have a format: "<QI8s" (fields f0, f1, f2), or a number of bytes.  An item is the value of
-- its field, or a list of values, or a string.  What is many is a list of items, or a string of records side by side.
-- Integers have 64 bits: those without sign of 2^63 and more are the negative ones with these bits, as string.pack has
-- them; extmem.unsigned() and extmem.text() convert them.  The last argument of constructors has ctx and the fields of
-- options in <extmem/*.h> by name.  Positions are counted from 1.
local c = require "extmem.core"

local extmem = {version = c.em_version(), core = c}

-- Failures are tables: name, status, message, errno, op, path, offset, bytes, record, done.
local Error = c.error_class()
Error.__index = Error
function Error:__tostring()
	local told = not self.path or self.message:find(self.path, 1, true)
	return told and self.message or self.path .. ": " .. self.message
end
extmem.Error = Error

-- Numbers of 64 bits without sign: from decimal digits, and to them.
extmem.unsigned, extmem.text = c.number_of, c.text_of

-- Classes.  Methods call the function of the module with their prefix and name.
local function class(base, prefix, names)
	local new = {prefix = prefix}
	new.__index = new
	for _, name in ipairs {"__close", "__len", "__pairs"} do
		new[name] = base and base[name]
	end
	for name in (names or ""):gmatch("%S+") do
		local fn = c[prefix .. name]
		new[name] = function(self, ...) return fn(self.handle, ...) end
	end
	return setmetatable(new, {__index = base, __call = function(_, ...)
		local object = setmetatable({}, new)
		object:init(...)
		return object
	end})
end

-- What has a handle: closed by close(), <close>, or the collector.
local Object = class()
function Object:close() self.handle:close() end
Object.__close = Object.close
function Object:closed() return self.handle:closed() end
function Object:cancel() self.handle:cancel() end
function Object:call(name, ...) return c[self.prefix .. name](self.handle, ...) end
function Object:stats() return self:call("stats_get") end
function Object:json() return self:stats().json end
function Object:items(bytes) return c.items(self.handle, bytes) end
function Object:packed(items) return c.packed(self.handle, items) end

-- Budgets, scratch disks, threads: fields of em_ctx_opts, or a text ("memory=64M,threads=2,dir=/fast").
local Context = class(Object, "em_ctx_", "cancel memory memory_used memory_peak threads backend isa")
extmem.Context = Context
function Context:init(opts)
	self.handle = type(opts) == "string" and c.em_ctx_open_text(opts, nil) or c.em_ctx_open(opts)
end
function Context:stats() return c.em_ctx_io_stats_get(self.handle) end

local default
function extmem.default_context()
	if not default or default:closed() then
		default = Context()
	end
	return default
end

-- The context, options of the library, and those named of ours.
local function split(opts, ...)
	local rest, own = {}, {}
	for name, value in pairs(opts or {}) do
		rest[name] = value
	end
	for i, name in ipairs {"ctx", ...} do
		own[i], rest[name] = rest[name], nil
	end
	return own[1] or extmem.default_context(), rest, table.unpack(own, 2, 1 + select("#", ...))
end
-- Items one by one, of lists that a function gives until there is none; and how many the last one has left.
local function each(more)
	local list, at = {}, 0
	return function()
		at = at + 1
		if list[at] == nil then
			list, at = more() or {}, 1
		end
		return list[at]
	end, function() return math.max(#list - at, 0) end
end

-- How records are sorted.  key: fields ("f1,-f0", where - is descending), options of the command for lines
-- ("-t, -k3,3nr"), or a function that gets a list of items and returns a list of numbers.  opts.cmp: a function of two
-- items, slow.
local Order = class(Object, "em_order_", "name")
extmem.Order = Order
function Order:init(format, key, opts)
	local ctx, _, cmp = split(opts, "cmp")
	self.format = format
	if cmp or type(key) == "function" then
		self.handle = c[cmp and "em_order_cmp" or "em_order_key_fn"](ctx.handle, {format, false, cmp or key})
	else
		self.handle = c.order(ctx.handle, {tostring(format), key})
	end
end
-- Below, at or above 0.
function Order:compare(a, b)
	return self.format == "lines" and c.em_text_compare(self.handle, a, b) or self:call("compare", a, b)
end
local function order_of(format, key, ctx, cmp)
	return getmetatable(key) == Order and key or Order(format, key, {ctx = ctx, cmp = cmp})
end

-- Push, finish, pull: what sorters and tops have in common.
local Pull = class(Object)
function Pull:begin(format, opts, open)
	local ctx, rest, key, cmp = split(opts, "key", "cmp")
	self.ctx, self.format, self.order = ctx, format, order_of(format, key, ctx, cmp)
	self.handle = open(ctx.handle, self.order.handle, rest)
end
function Pull:push(many)
	self:call(self.format == "lines" and "push_batch" or "push", many)
	return self
end
function Pull:finish()
	self:call("finish")
	self.finished = true
	return self
end
-- The next records: a string, or, of lines, a list; nil behind the last.
function Pull:next_batch() return self:call("next") end
function Pull:batches()
	if not self.finished then
		self:finish()
	end
	return function()
		return self:next_batch()
	end
end
-- A loop that is left gives back what it has not come to, unless batches were read in it.  An iterator that is called
-- by hand has the rest of its batch.
function Pull:each()
	local batches, mark = self:batches(), 0
	local next_, left = each(function()
		local batch = batches()
		mark = self:call("back", 0, 0)
		return type(batch) == "string" and self:items(batch) or batch
	end)
	return next_, nil, nil, setmetatable({}, {__close = function()
		return left() > 0 and not self:closed() and self:call("back", mark, left())
	end})
end
function Pull:read()
	local all = {}
	for item in self:each() do
		all[#all + 1] = item
	end
	return all
end
function Pull:__len() return self:call("pushed") end

local Sorter = class(Pull, "em_sorter_", "push_file")
extmem.Sorter, Sorter.__len = Sorter, Pull.__len
function Sorter:init(format, opts) self:begin(format, opts, c.em_sorter_open) end
function Sorter:write_file(path)
	if not self.finished then
		self:finish()
	end
	self:call("pull_file", path)
end
function Sorter:clear()
	self:call("clear")
	self.finished = false
end

-- The records of ranks opts.start, ..., opts.start + k - 1, counted from 0.
local Top = class(Pull, "em_top_")
extmem.Top, Top.__len = Top, Pull.__len
function Top:init(format, k, opts)
	local ctx, rest, start = split(opts, "start")
	rest.ctx = ctx
	self:begin(format, rest, function(handle, order, own)
		return c.em_top_open(handle, order, start or 0, k, own)
	end)
end

-- Sorted: a list of a list, a string of a string.
function extmem.sort(many, format, opts)
	local sorter <close> = Sorter(format, opts)
	sorter:push(many)
	if type(many) ~= "string" then
		return sorter:read()
	end
	local out = {}
	for batch in sorter:batches() do
		out[#out + 1] = batch
	end
	return table.concat(out)
end

-- Files.  opts: records ("lines"), key, ctx, and the fields of the options.  Those that write return statistics.
local function files(opts, ...)
	local own = {split(opts, "records", "key", ...)}
	local ctx, rest = own[1], own[2]
	return ctx.handle, order_of(own[3] or "lines", own[4], ctx).handle, rest,
		table.unpack(own, 5, 4 + select("#", ...))
end
for name, fn in pairs {sort_file = c.em_sort_files, merge_files = c.em_merge_files} do
	extmem[name] = function(inputs, output, opts)
		local ctx, order, rest = files(opts)
		return fn(ctx, order, inputs, output, rest)
	end
end
function extmem.unique_file(inputs, output, opts)
	local ctx, order, rest, count, presorted, least, most = files(opts,
		"count", "presorted", "min_count", "max_count")
	return c.em_unique_files(ctx, order, inputs, output,
		{min_count = least, max_count = most, count = count, presorted = presorted, sort = rest})
end
function extmem.top_file(inputs, output, k, opts)
	local ctx, order, rest, start = files(opts, "start")
	return c.em_top_files(ctx, order, inputs, start or 0, k, output, rest)
end
function extmem.shuffle_file(inputs, output, opts)
	local ctx, rest, records = split(opts, "records")
	return c.em_shuffle_files(ctx.handle, (c.format({tostring(records or "lines")})), inputs, output, rest)
end
-- What was found; first: the first record that is not in its place.
function extmem.check_file(path, opts)
	local ctx, order, rest = files(opts)
	local first
	local found = c.em_check_file(ctx, order, path, rest, function(_, record)
		first = first or record
	end)
	found.first = first
	return found
end

-- Containers.
local Container = class(Object)
function Container:init(format, opts)
	local ctx, rest = split(opts)
	self.ctx, self.format, rest.record_bytes = ctx, format, tostring(format)
	self.handle = c[self.prefix .. "open"](ctx.handle, rest)
end
function Container:__len() return self:call("size") end

-- Arrays: v[i] and v[i] = item, positions from 1; #v, ipairs(v), each().
local Sequence = class(Container)
function Sequence.__newindex(self, at, item)
	if type(at) ~= "number" then
		rawset(self, at, item)
	elseif at == #self + 1 then
		self:push(item)
	else
		self:call("set", at - 1, item)
	end
end
local function positions(of)
	of.__index = function(self, at)
		if type(at) ~= "number" then
			return of[at]
		elseif at >= 1 and at <= #self and at % 1 == 0 then
			return self:call("get", at - 1)
		end
	end
	of.__newindex, of.__len = Sequence.__newindex, Container.__len
end
-- Up to n records from position at in a string; and records in their place.
function Sequence:read(at, n)
	return self:call("read", at - 1, math.max(math.min(n or math.maxinteger, #self - at + 1), 0))
end
function Sequence:write(at, many) self:call("write", at - 1, many) end
function Sequence:each()
	local from = 1
	return each(function()
		local list = from <= #self and self:items(self:read(from, 65536)) or {}
		from = from + #list
		return list
	end)
end

-- opts.path, opts.mode ("r", "r+", "w"): the file is the array.
local Vector = class(Sequence, "em_vector_", "push push_many resize reserve shrink flush export")
extmem.Vector = Vector
positions(Vector)
function Vector:flush(durable) self:call("flush", durable or false) end
function Vector:clear() self:resize(0) end
-- Items of a list of positions, many read at a time.
function Vector:read_many(at)
	local from = {}
	for i, position in ipairs(at) do
		from[i] = position - 1
	end
	return self:items(self:call("read_many", from))
end
-- Sort in place; returns how many are left in front, which are fewer with opts.unique.
function Vector:sort(key, opts)
	local _, rest, cmp = split(opts, "cmp")
	return self:call("sort", 0, #self, order_of(self.format, key, self.ctx, cmp).handle, rest)
end
function Vector:shuffle(seed, opts)
	local _, rest = split(opts)
	self:call("shuffle", 0, #self, seed or 0, rest)
end
function Vector:reverse() self:call("reverse", 0, #self) end
-- fn(position, list of items) for all; mutate(): what it returns, if it does, takes their place.
function Vector:for_each(fn) self:call("for_each", 0, #self, function(at, list) fn(at + 1, list) end) end
function Vector:mutate(fn) self:call("mutate", 0, #self, function(at, list) return fn(at + 1, list) end) end
-- The first position whose item is so, or nil; how many are.
function Vector:find(test)
	local at = self:call("find", 0, #self, test)
	return at and at < #self and at + 1 or nil
end
function Vector:count(test) return self:call("count", 0, #self, test) end

local Deque = class(Sequence, "em_deque_", "push_back push_front push_back_many push_front_many pop_back pop_front " ..
	"back front clear prefetch")
extmem.Deque = Deque
positions(Deque)
Deque.push, Deque.pop, Deque.push_many = Deque.push_back, Deque.pop_back, Deque.push_back_many

-- pop() and what looks return an item, or nil; pop_many(n) a list, pop_packed(n) a string.
local Ends = class(Container)
function Ends:pop_packed(n) return (self:call("pop_many", math.min(n, #self))) or "" end
function Ends:pop_many(n) return self:items(self:pop_packed(n)) end
-- Take out item after item.
function Ends:drain()
	return function()
		return self:pop()
	end
end
local ENDS = "push push_many pop clear "
local function ends(name, prefix, more)
	extmem[name] = class(Ends, prefix, ENDS .. more)
	extmem[name].__len = Container.__len
	return extmem[name]
end
ends("Stack", "em_stack_", "peek prefetch")
ends("Queue", "em_queue_", "front back prefetch")

-- The first record of an order comes out, whatever has been pushed.
local PriorityQueue = ends("PriorityQueue", "em_pq_", "top pushpop replace")
function PriorityQueue:init(format, opts)
	local ctx, rest, key, cmp = split(opts, "key", "cmp")
	self.ctx, self.format, self.order = ctx, format, order_of(format, key, ctx, cmp)
	rest.order = self.order.handle
	self.handle = c.em_pq_open(ctx.handle, rest)
end
-- Up to n items that come before a bound.
function PriorityQueue:pop_until(bound, n, inclusive)
	local some, got = self:call("pop_until", bound, inclusive and c.EM_PQ_INCLUSIVE or 0,
		math.min(n or 65536, #self))
	return self:items((some or ""):sub(1, (got or 0) * self:call("record_bytes")))
end
-- The next records, which are taken out, in a string; nil: it is empty.
function PriorityQueue:next_batch() return self:call("next") end

-- A queue for keys that are numbers and never go back: key names the field.
local RadixHeap = ends("RadixHeap", "em_radix_heap_", "top last")
function RadixHeap:init(format, opts)
	local ctx, rest, key = split(opts, "key")
	local _
	rest.ctx, _, rest.key_type, rest.key_offset, rest.key_flags = ctx, c.format({tostring(format), key or "f0"})
	Container.init(self, format, rest)
end

-- A B+-tree: formats of key and value, both with any number of fields.  opts.path: one that was saved, to be read.
local BTree = class(Container, "em_btree_",
	"save clear flush verify upsert_many insert_many erase_many count erase_range")
extmem.BTree, BTree.__len = BTree, Container.__len
function BTree:init(key, value, opts)
	local ctx, rest, order, path = split(opts, "order", "path")
	self.set, self.ctx, self.format = (value or "") == "", ctx, tostring(key) .. "|" .. tostring(value or "")
	self.order = order_of(self.format, order, ctx)
	self.handle = path and c.em_btree_open_file(ctx.handle, path, self.order.handle, rest) or
		c.em_btree_open(ctx.handle, self.order.handle, rest)
end
-- A key and its value, of a set true; or nil.
function BTree:pair(item)
	if item == nil or self.set then
		return item, item ~= nil or nil
	end
	return item[1], item[2]
end
function BTree:get(key) return select(2, self:pair(self:call("get", key))) end
function BTree:put(key, value) return self:call("upsert", self.set and key or {key, value}) end
-- Whether it was there.
function BTree:erase(key) return self:call("erase", key) ~= nil end
for name, fn in pairs {first = "min", last = "max", pop_first = "pop_min", pop_last = "pop_max"} do
	BTree[name] = function(self) return self:pair(self:call(fn)) end
end
-- Fill an empty tree with what a Sorter of its order has: each block is written once.
function BTree:load(sorter)
	self:call("load_sorted", (sorter.finished and sorter or sorter:finish()).handle, nil)
end
-- Keys from <= key < to with their values, nil being open ends; back: the last one first.  The tree may change.
function BTree:each(from, to, back)
	local cursor, begin = c.em_btree_cursor_open(self.handle), 1
	return function()
		local item = begin and c.btree_walk(cursor, from, to, begin, back and 1 or 0)
		begin = item and 0
		return self:pair(item or nil)
	end
end
BTree.__pairs = BTree.each

-- fn(position, list of items) for all with from <= key < to, many at a time; positions from 1 in what is visited.
function BTree:for_each(fn, from, to)
	self:call("for_each", from, to, function(at, list) fn(at + 1, list) end)
end
-- fn(number of the range, list of items) for many ranges from a list of from and one of to, of which one may be nil:
-- each part of the tree is read once, and ranges that overlap take turns.
function BTree:for_each_many(fn, from, to)
	self:call("for_each_many", from, to, function(i, list) fn(i + 1, list) end)
end

-- A place in a tree, which stays where it is while that changes.  get(), next(), prev() return an item or nil,
-- seek(key, how) 0 if there is one; how is core.EM_BTREE_...
local Cursor = class(Object, "em_btree_cursor_", "seek get next prev erase")
function BTree:cursor()
	local cursor = setmetatable({}, Cursor)
	cursor.handle = c.em_btree_cursor_open(self.handle)
	return cursor
end
require "extmem.streams"(extmem, c, class, split, order_of, {Object = Object, Pull = Pull, Container = Container,
	Sequence = Sequence})
return extmem
