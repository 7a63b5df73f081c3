-- SPDX-License-Identifier: BSL-1.0
-- Streams: records that are made when they are asked for, batch by batch, with nothing in between on a disk.  What
-- extmem.lua has as extmem.Stream.
return function(extmem, c, class, Object, split, order_of)
	local Stream = class(Object, "em_stream_", "batch count")
	extmem.Stream = Stream
	local ALL = -1

	local function text(format)
		return tostring(format)
	end
	-- What a function of the module has made, as a stream of this format.
	local function made(ctx, format, handle, as)
		local stream = setmetatable({ctx = ctx, format = format, handle = handle}, Stream)
		if as then
			c.retype(handle, {text(format)})
		end
		return stream
	end
	function Stream:node(name, format, ...)
		return made(self.ctx, format or self.format, c[name](self.handle, ...), format)
	end
	function Stream:order(key)
		return order_of(self.format, key, self.ctx).handle
	end
	function Stream:with(others)
		local list = {self.handle}
		for i, other in ipairs(others) do
			list[i + 1] = other.handle
		end
		return list
	end

	-- source: a function that gives the next records, a list of items or a string, or nil; or such records.
	function Stream:init(format, source, opts)
		local more = type(source) == "function" and source or function()
			local some = source
			source = nil
			return some
		end
		self.ctx, self.format = split(opts), format
		self.handle = c.emb_stream_source(self.ctx.handle, (c.format({text(format)})), ALL, {more, text(format)})
	end
	function extmem.stream_file(format, paths, opts)
		local ctx = split(opts)
		return made(ctx, format, c.em_stream_file(ctx.handle, (c.format({text(format)})), paths), true)
	end

	-- fn(list of items) gives as many, of this format or another; any number; a truth for each; nothing.
	local asking = {map = c.EMB_MAP, flat_map = c.EMB_FLAT_MAP, filter = c.EMB_FILTER, inspect = c.EMB_INSPECT}
	for name, what in pairs(asking) do
		Stream[name] = function(self, fn, format)
			format = format or self.format
			return self:node("emb_stream_node", format, what, (c.format({text(format)})), {fn, text(format)})
		end
	end
	-- Of neighbours with equal keys one item: fn(sum, list of items) gives the sum with them.
	function Stream:reduce(fn, key)
		return self:node("emb_stream_reduce", nil, self:order(key), {fn, text(self.format)})
	end
	function Stream:sort(key, opts)
		local _, rest = split(opts)
		return self:node("em_stream_sort", nil, self:order(key), rest)
	end
	-- Of equal neighbours the first; counted: a format with a Q at its end, how many they were.
	function Stream:unique(key, counted)
		return self:node("em_stream_unique", counted, self:order(key), counted and c.EM_UNIQUE_COUNT or 0)
	end
	function Stream:concat(...)
		return made(self.ctx, self.format, c.em_stream_concat(self:with {...}))
	end
	function Stream:merge(others, key)
		return made(self.ctx, self.format, c.em_stream_merge(self:with(others), self:order(key)))
	end
	-- Records of all side by side, which have that format.
	function Stream:zip(others, format)
		return made(self.ctx, format, c.em_stream_zip(self:with(others)), true)
	end
	-- operation: "union", "intersection", "difference", "symmetric".
	function Stream:set(operation, other, key)
		local how = c["EM_SET_" .. operation:upper()] or 99
		return self:node("em_stream_set", nil, other.handle, self:order(key), how)
	end
	-- left, right: their fields, by which they are sorted; fn(left, right) gets items, one of which may be nil.
	function Stream:join(other, kind, left, right, format, fn)
		return self:node("emb_stream_join", format, other.handle, c["EM_JOIN_" .. kind:upper()] or 99,
			order_of(self.format, left, self.ctx):name(), order_of(other.format, right, self.ctx):name(),
			fn and (c.format({text(format)})) or 0, 0, fn and {fn, text(format)} or nil)
	end
	function Stream:slice(skip, take)
		return self:node("em_stream_slice", nil, skip or 0, take or ALL)
	end
	function Stream:reverse()
		return self:node("em_stream_reverse", nil, 0)
	end
	-- The field at that offset, a number of 64 bits, becomes its sum with those before; type: core.EM_KEY_U64, ...
	function Stream:prefix_sum(offset, type_)
		return self:node("em_stream_prefix_sum", nil, offset or 0, type_ or c.EM_KEY_U64)
	end
	function Stream:window(n, step, format)
		return self:node("emb_stream_window", format, n, step or 1)
	end
	-- Two streams of all records; spill: what one has read and the other has not may go to scratch.
	function Stream:tee(spill)
		local a, b = c.emb_stream_tee(self.handle, spill and 1 or 0, 0)
		return made(self.ctx, self.format, a), made(self.ctx, self.format, b)
	end

	-- The next records in a string, or nil.
	function Stream:next_batch()
		return self:call("next")
	end
	function Stream:each()
		local list, at = {}, 0
		return function()
			at = at + 1
			if list[at] == nil then
				local batch = self:next_batch()
				list, at = batch and self:items(batch) or {}, 1
			end
			return list[at]
		end
	end
	function Stream:read()
		local all = {}
		for item in self:each() do
			all[#all + 1] = item
		end
		return all
	end
	-- Push all to a sorter, which may be given more, a container, or a file: how many there were.
	function Stream:to(sink)
		if type(sink) == "string" then
			return c.emb_stream_to_file(self.handle, self.ctx.handle, sink)
		elseif getmetatable(sink) == extmem.Vector then
			local n = #sink
			return c.emb_stream_to_vector(self.handle, sink.handle, n) - n
		end
		return c["emb_stream_to_" .. getmetatable(sink).prefix:sub(4, -2)](self.handle, sink.handle)
	end
	function Stream:stats()
		return self:call("sort_stats_get")
	end
end
