-- SPDX-License-Identifier: BSL-1.0
-- Streams: records that are made when they are asked for, batch by batch, with nothing in between on a disk; sinks, to
-- which they are pushed; and runs, which streams are merged of.  What extmem.lua has as extmem.Stream, Sink, Runs.
--
-- A stream or sink may be used as long as it is open, also when what it is on was closed, which is done then.  Streams
-- of "lines" have strings of any length; nodes of them are filter, inspect, flat_map, sort, unique, reduce, merge, set,
-- join, tee, split, concat, slice, and map, which makes items of a format.
return function(extmem, c, class, split, order_of, base)
	local Object, Pull = base.Object, base.Pull
	local Stream, Sink = class(Pull, "em_stream_", "batch count"), class(Object, "em_sink_", "count")
	local Runs = class(Object, "em_runs_", "clear")
	extmem.Stream, extmem.Sink, extmem.Runs, Stream.finished = Stream, Sink, Runs, true
	local ALL = -1

	-- What a function of the module has made, as a stream or sink of this format.
	local function made(ctx, format, handle, as, of)
		local object = setmetatable({ctx = ctx, format = format, handle = handle}, of or Stream)
		if as then
			c.retype(handle, {tostring(format)})
		end
		return object
	end
	-- A function, and the format of what it makes, unless that is what it gets.
	local function ask(fn, format) return fn and {fn, format and tostring(format) or false} end
	local function handles(list)
		local all = {}
		for i, one in ipairs(list) do
			all[i] = one.handle
		end
		return all
	end
	function Stream:node(name, format, ...)
		return made(self.ctx, format or self.format, c[name](self.handle, ...), format)
	end
	function Stream:several(name, others, format, ...)
		return made(self.ctx, format or self.format, c[name](handles {self, table.unpack(others)}, ...), format)
	end
	function Stream:order_of(key) return order_of(self.format, key, self.ctx).handle end

	-- source: a function that gives the next records, a list of items or a string, or nil; or such records.
	function Stream:init(format, source, opts)
		local more = type(source) == "function" and source or function()
			local some = source
			source = nil
			return some
		end
		self.ctx, self.format = split(opts), format
		self.handle = c.emb_stream_source(self.ctx.handle, 0, ALL, ask(more, format))
	end
	-- Streams of files, one after the other; and sinks to one, which is there when they are finished.  opts.format:
	-- of other records of any length than lines, fields of em_format.
	for name, of in pairs {stream_file = {Stream, c.stream_paths}, sink_file = {Sink, c.sink_path}} do
		extmem[name] = function(format, paths, opts)
			local ctx, rest = split(opts)
			return made(ctx, format, of[2](ctx.handle, {tostring(format)}, paths, rest.format), nil, of[1])
		end
	end

	-- fn(list of items) gives as many, of this format or another; any number; a truth for each; nothing.
	local asking = {map = c.EMB_MAP, flat_map = c.EMB_FLAT_MAP, filter = c.EMB_FILTER, inspect = c.EMB_INSPECT}
	for name, what in pairs(asking) do
		Stream[name] = function(self, fn, format)
			return self:node("emb_stream_node", format, what, 0, ask(fn, format))
		end
	end
	-- Of neighbours with equal keys one item: fn(sum, list of items) gives the sum with them.
	function Stream:reduce(fn, key)
		return self:node("emb_stream_reduce", nil, self:order_of(key), ask(fn))
	end
	function Stream:sort(key, opts)
		return self:node("em_stream_sort", nil, self:order_of(key), (select(2, split(opts))))
	end
	-- As both, and adds before anything is written; runs_info() tells of it.
	function Stream:sort_reduce(fn, key, opts)
		return self:node("emb_stream_sort_reduce", nil, self:order_of(key), select(2, split(opts)), ask(fn))
	end
	-- Of equal neighbours the first; counted: a format with a Q at its end, how many they were.  "lines": lines
	-- begin with that, and a tab.
	function Stream:unique(key, counted)
		return self:node("em_stream_unique", counted, self:order_of(key), counted and c.EM_UNIQUE_COUNT or 0)
	end
	function Stream:concat(...) return self:several("em_stream_concat", {...}) end
	function Stream:merge(others, key)
		return self:several("em_stream_merge", others, nil, self:order_of(key))
	end
	-- Records of all side by side, which have that format.
	function Stream:zip(others, format) return self:several("em_stream_zip", others, format) end
	-- operation: "union", "intersection", "difference", "symmetric".
	function Stream:set(operation, other, key)
		local how = c["EM_SET_" .. operation:upper()] or 99
		return self:node("em_stream_set", nil, other.handle, self:order_of(key), how)
	end
	-- kind: "inner", "left", "full", "semi", "anti"; left, right: their keys, by which they are sorted; fn(left,
	-- right) gets items, one of which may be nil.  Of lines format is nil; fn gives a line, and without it this has
	-- the fields of the keys, and then the others, with a separator: a byte, or as those of `left'.
	function Stream:join(other, kind, left, right, format, fn, separator)
		return self:node("emb_stream_join", format, other.handle, c["EM_JOIN_" .. kind:upper()] or 99,
			self:order_of(left), other:order_of(right or left), 0, separator, 0, ask(fn, format))
	end
	-- It, of whose graph fn(phase, done, total) is told how far that got, as graph_info() says; true stops it.
	function Stream:progress(fn) return self:node("emb_stream_progress", nil, ask(fn)) end
	-- What stays, while fn(list of items) gives a number for each: 0, or that of the sink to which it goes.
	function Stream:split(fn, ...) return self:node("emb_stream_split", nil, handles {...}, ask(fn)) end
	function Stream:slice(skip, take) return self:node("em_stream_slice", nil, skip or 0, take or ALL) end
	function Stream:reverse() return self:node("em_stream_reverse", nil, 0) end
	-- The field at that offset, a number of 64 bits, becomes its sum with those before; type: core.EM_KEY_U64, ...
	function Stream:prefix_sum(offset, type_)
		return self:node("em_stream_prefix_sum", nil, offset or 0, type_ or c.EM_KEY_U64)
	end
	function Stream:window(n, step, format) return self:node("emb_stream_window", format, n, step or 1) end
	-- Two streams of all records; spill: what one has read and the other has not may go to scratch.
	function Stream:tee(spill)
		local a, b = c.emb_stream_tee(self.handle, spill and 1 or 0, 0)
		return made(self.ctx, self.format, a), made(self.ctx, self.format, b)
	end

	-- Push all to a sink or sorter, which may be given more, a container, or a file: how many there were.
	function Stream:to(sink, format)
		local of = getmetatable(sink)
		if type(sink) == "string" then
			return c.stream_to_path(self.handle, self.ctx.handle, sink, format)
		elseif of == Sink then
			return self:call("pump", sink.handle)
		elseif of == extmem.Vector then
			local n = #sink
			return c.emb_stream_to_vector(self.handle, sink.handle, n) - n
		end
		return c["emb_stream_to_" .. of.prefix:sub(4, -2)](self.handle, sink.handle)
	end
	for name, fn in pairs {stats = "sort_stats_get", runs_info = "runs_info_get", graph_info = "graph_info_get"} do
		Stream[name] = function(self) return self:call(fn) end
	end

	-- What streams take records from, and sinks push them to: containers and sorters.
	local function flow(of, stream_args, sink_args)
		for name, way in pairs {stream = {Stream, stream_args}, sink = {Sink, sink_args}} do
			of[name] = function(self, ...)
				local fn = c["em_" .. name .. self.prefix:sub(3, -2)]
				return made(self.ctx, self.format, fn(self.handle, way[2](self, ...)), nil, way[1])
			end
		end
	end
	local function none() end
	flow(base.Container, none, none)
	flow(extmem.Sorter, none, none)
	-- Up to n items from position at, the last one first if they come back.
	local function range(self, at, n, back)
		at = at or 1
		return at - 1, math.max(math.min(n or math.maxinteger, #self - at + 1), 0),
			back and c.EM_VECTOR_REVERSE or 0
	end
	flow(base.Sequence, range, none)
	-- Over items from a position on, or behind the last one.
	flow(extmem.Vector, range, function(self, at) return at and at - 1 or #self end)
	-- Keys from <= key < to.
	flow(extmem.BTree, function(_, from, to) return from, to end, function() return nil end)

	-- fn(list of items), and fn() when it is finished.
	function Sink:init(format, fn, opts)
		self.ctx, self.format = split(opts), format
		self.handle = c.emb_sink_function(self.ctx.handle, 0, ask(fn, format))
	end
	function extmem.sink_discard(format, opts)
		local ctx = split(opts)
		return made(ctx, format, c.sink_none(ctx.handle, {tostring(format)}), nil, Sink)
	end
	function Sink:push(many) c.emb_sink_push_lines(self.handle, many) return self end
	Sink.finish, Sink.__len = Pull.finish, function(self) return self:count() end

	-- Sorted runs: formed once, merged as often as one likes, also in parts.  opts: key, cmp, merge_memory, how
	-- they are formed, and combine: fn(sum, list of equal items) makes one of them, as in Stream:sort_reduce().
	function Runs:init(format, opts)
		local ctx, rest, key, cmp, combine, least = split(opts, "key", "cmp", "combine", "merge_memory")
		self.ctx, self.format, self.order = ctx, format, order_of(format, key, ctx, cmp)
		local own = {form = rest, merge_memory = least}
		self.handle = c.emb_runs_open(ctx.handle, self.order.handle, own, ask(combine))
	end
	Runs.push, Runs.finish = Pull.push, Pull.finish
	-- Records of a sorted sequence, which goes on with the next call, and ends with end_run().
	function Runs:append(many) self:call("append", many) return self end
	function Runs:end_run() self:call("end") end
	local function flags(sorted, more)
		return (sorted and c.EM_RUNS_SORTED or 0) | (more and c.EM_RUNS_MORE or 0)
	end
	-- All that a stream has, which stays open.
	function Runs:feed(stream, sorted)
		c.emb_runs_feed(self.handle, stream.handle, flags(sorted))
		return self
	end
	-- more: it ends a sequence, and does not finish the runs.
	function Runs:sink(sorted, more)
		return made(self.ctx, self.format, c.em_sink_runs(self.handle, flags(sorted, more)), nil, Sink)
	end
	-- A Stream of items from <= item < to; of these `take' behind the first `skip'.
	function Runs:merge(from, to, skip, take, memory)
		local handle = c.emb_runs_merge(self.handle, from, to, skip or 0, take or ALL, memory or 0)
		return made(self.ctx, self.format, handle)
	end
	function Runs:stats() return self:call("info_get") end
end
