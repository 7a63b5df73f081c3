-- SPDX-License-Identifier: BSL-1.0
-- A hundred thousand visits: sorted by page and time, the pages counted in a tree, the slowest ones by a heap.
local extmem = require "extmem"
local ctx <close> = extmem.Context {memory = "32M"}
local visits = extmem.Sorter("<IId", {key = "f0,f1", ctx = ctx}) -- page, second, milliseconds it took
local some = {}
for second = 1, 100000 do
	some[second] = {math.random(0, 999), second, -10 * math.log(1 - math.random())}
end
visits:push(some)

local pages = extmem.BTree("<I", "<QQ", {ctx = ctx})                       -- page -> visits, last second
local slowest = extmem.PriorityQueue("<dI", {key = "-f0", ctx = ctx})
local page, n, last
for visit in visits:each() do
	if visit[1] ~= page then
		page, n = visit[1], 0
	end
	n, last = n + 1, visit[2]
	pages:put(page, {n, last})
	if visit[3] > 60 then
		slowest:push {visit[3], page}
	end
end
local sum = 0
for _, value in pairs(pages) do
	sum = sum + value[1]
end
assert(sum == 100000, "visits were lost")
for key, value in pages:each(998) do
	print(("page %d: %d visits, the last at %d"):format(key, value[1], value[2]))
end
print(("%d slow visits, the slowest of page %d"):format(#slowest, slowest:top()[2]))
