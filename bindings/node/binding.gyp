# SPDX-License-Identifier: BSL-1.0
{
  "targets": [{
    "target_name": "_extmem",
    "sources": ["extmem_wrap.cxx"],
    "include_dirs": ["<!@(node -p \"require('node-addon-api').include\")"],
    "defines": ["NAPI_DISABLE_CPP_EXCEPTIONS"],
    "cflags_cc!": ["-fno-exceptions"],
    "cflags_cc": ["-fexceptions"],
    "cflags": ["<!@(pkg-config --cflags extmem)", "-Wno-maybe-uninitialized", "-Wno-unused"],
    "libraries": ["<!@(pkg-config --libs extmem)"]
  }]
}
