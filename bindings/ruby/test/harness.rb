# SPDX-License-Identifier: BSL-1.0
# frozen_string_literal: true

require 'extmem'
require 'tmpdir'

# Tests: check(name) { ... }, in which equal and fails may be called; each has a context and a folder of its own.
module Harness
  SEED = (ENV['EXTMEM_TEST_SEED'] || Random.new_seed % 1_000_000_007).to_i
  @passed = @failed = 0
  class << self
    attr_accessor :passed, :failed, :ctx, :rng, :dir
  end

  class Wrong < StandardError; end

  def ctx = Harness.ctx
  def rng = Harness.rng

  def check(name)
    Harness.rng = Random.new(SEED)
    Dir.mktmpdir do |dir|
      Harness.dir = dir
      Harness.ctx = Extmem::Context.new(memory: '16M')
      yield
      Harness.passed += 1
    rescue Exception => e
      Harness.failed += 1
      warn "FAILED: #{name} (EXTMEM_TEST_SEED=#{SEED}): #{e.class}: #{e.message}", *e.backtrace.first(8)
    ensure
      ctx.close
    end
  end

  def equal(got, wanted)
    raise Wrong, "#{got.inspect[0, 500]} is not #{wanted.inspect[0, 500]}" unless got == wanted
  end

  # A failure of the library of this name, or an exception of this class.
  def fails(name)
    yield
  rescue Wrong
    raise
  rescue Exception => e
    good = name.is_a?(Class) ? e.is_a?(name) : e.respond_to?(:name) && e.name == name
    raise Wrong, "#{e.inspect} was raised, and not #{name}" unless good

    e
  else
    raise Wrong, 'nothing was raised'
  end

  def path(name, data = nil)
    file = File.join(Harness.dir, name)
    File.binwrite(file, data) if data
    file
  end

  def self.sum_up
    puts "#{passed} passed, #{failed} failed"
    exit(failed.zero? && passed.positive?)
  end
end
include Harness
