-- SPDX-License-Identifier: BSL-1.0
local t = require "harness"
require "scenarios"
require "native"
print(("%d passed, %d failed"):format(t.ran - t.failed, t.failed))
os.exit(t.failed == 0 and t.ran > 0, true)
