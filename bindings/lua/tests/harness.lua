-- SPDX-License-Identifier: BSL-1.0
-- Tests: t.test(name, function), t.equal(), t.raises(); each has a context and a folder of its own.
local extmem = require "extmem"
local t = {ran = 0, failed = 0, seed = tonumber(os.getenv("EXTMEM_TEST_SEED") or os.time() * 1000 + math.random(999))}

local function show(x)
	if type(x) ~= "table" or getmetatable(x) then
		return tostring(x)
	end
	local parts = {}
	for k, v in pairs(x) do
		parts[#parts + 1] = tostring(k) .. "=" .. show(v)
	end
	return "{" .. table.concat(parts, ", ") .. "}"
end
local function same(a, b)
	if type(a) ~= "table" or type(b) ~= "table" then
		return a == b
	end
	for k, v in pairs(a) do
		if not same(v, b[k]) then
			return false
		end
	end
	for k in pairs(b) do
		if a[k] == nil then
			return false
		end
	end
	return true
end
function t.equal(a, b)
	if not same(a, b) then
		error(show(a) .. " is not " .. show(b), 2)
	end
end
function t.raises(name, fn, ...)
	local ok, e = pcall(fn, ...)
	if ok then
		error("nothing was raised", 2)
	elseif type(e) ~= "table" or e.name ~= name then
		error(show(e) .. " was raised, and not " .. name, 2)
	end
	return e
end
-- Bytes at random.
function t.random(n)
	local words = {}
	for i = 1, (n + 7) // 8 do
		words[i] = string.pack("<i8", math.random(0))
	end
	return table.concat(words):sub(1, n)
end
function t.path(name, data)
	local path = t.dir .. "/" .. name
	if data then
		local f <close> = assert(io.open(path, "wb"))
		f:write(data)
	end
	return path
end
function t.read(name)
	local f <close> = assert(io.open(t.path(name), "rb"))
	return f:read("a")
end
function t.test(name, fn)
	t.ran = t.ran + 1
	math.randomseed(t.seed)
	t.dir = os.tmpname()
	os.remove(t.dir)
	os.execute("mkdir " .. t.dir)
	t.ctx = extmem.Context {memory = "16M"}
	local ok, e = xpcall(fn, function(e)
		return type(e) == "string" and debug.traceback(e, 2) or e
	end)
	t.ctx:close()
	os.execute("rm -r " .. t.dir)
	if not ok then
		t.failed = t.failed + 1
		io.stderr:write("FAILED: ", name, " (EXTMEM_TEST_SEED=", t.seed, "): ", show(e), "\n")
	end
end
return t
