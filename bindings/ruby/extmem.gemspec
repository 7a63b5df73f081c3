# SPDX-License-Identifier: BSL-1.0
# frozen_string_literal: true

# What lies beside this folder in a release is copied into it, as a gem has only what is below.
require 'fileutils'
Dir.chdir(__dir__) do
  FileUtils.mkdir_p('core/script')
  FileUtils.cp(Dir['../*.h'], 'core') if File.exist?('../fields.h')
  FileUtils.cp(Dir['../script/*.h'], 'core/script') if File.exist?('../script')
end

Gem::Specification.new do |spec|
  spec.name = 'extmem'
  spec.version = '0.1.0'
  spec.summary = 'External memory: sorting and containers for more records than memory holds'
  spec.authors = ['libextmem']
  spec.license = 'BSL-1.0'
  spec.required_ruby_version = '>= 3.0'
  spec.extensions = ['ext/extconf.rb']
  spec.files = Dir.chdir(__dir__) { Dir['{core,ext,lib}/**/*', 'extmem_wrap.cxx', 'port.h', 'README.md', 'example.rb'] }
end
