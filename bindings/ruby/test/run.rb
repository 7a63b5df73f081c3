# SPDX-License-Identifier: BSL-1.0
# frozen_string_literal: true

require_relative 'scenarios'
require_relative 'native'
Harness.sum_up
