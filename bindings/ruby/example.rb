# SPDX-License-Identifier: BSL-1.0
# frozen_string_literal: true

# A hundred thousand visits: sorted by page and time, the pages counted in a tree, the slowest ones by a heap.
require 'extmem'

ctx = Extmem::Context.new(memory: '32M')
visits = Extmem::Sorter.new('<IId', key: 'f0,f1', ctx: ctx) # page, second, milliseconds it took
visits.push(Array.new(100_000) { |second| [rand(1000), second, -10 * Math.log(1 - rand)] })

pages = Extmem::BTree.new('<I', '<QQ', ctx: ctx) # page -> visits, last second
slowest = Extmem::PriorityQueue.new('<dI', key: '-f0', ctx: ctx)
visits.chunk_while { |one, other| one[0] == other[0] }.each do |of_page|
  page, last, = of_page.last
  pages[page] = [of_page.size, last]
  of_page.each { |_, _, took| slowest << [took, page] if took > 60 }
end
abort 'visits were lost' if pages.sum { |_, (count, _)| count } != 100_000
pages.range(998) { |page, (count, last)| puts "page #{page}: #{count} visits, the last at #{last}" }
puts "#{slowest.size} slow visits, the slowest of page #{slowest.top[1]}"
