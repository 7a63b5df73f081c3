// SPDX-License-Identifier: BSL-1.0
// Configures STXXL from the command line: --dir D --io syscall|linuxaio --disk 24G (sparse; 0 = autogrow)
#ifndef STXXL_SETUP_HPP
#define STXXL_SETUP_HPP
#include "peer_common.h"
#include <stxxl/io>
#include <stxxl/mng>
#include <string>
static std::string stxxl_setup(int argc, char **argv)
{
    std::string io = peer_arg(argc, argv, "io", "linuxaio");
    char path[4096];
    snprintf(path, sizeof path, "%s/stxxl.%d", peer_tmpdir(argc, argv), (int)getpid());
    uint64_t disk = peer_size(peer_arg(argc, argv, "disk", "24G"));
    // unlink_on_open: nothing is left behind, also after a crash
    stxxl::disk_config d(path, disk, io + " direct=on unlink");
    stxxl::config::get_instance()->add_disk(d);
    return io;
}
static std::string stxxl_extra(const stxxl::stats_data &b, const std::string &io)
{
    stxxl::stats_data d = stxxl::stats_data(*stxxl::stats::get_instance()) - b;
    char s[256];
    snprintf(s, sizeof s, "io=%s lib_read=%lld lib_written=%lld io_wait=%.2f io_time=%.2f",
             io.c_str(), (long long)d.get_read_volume(), (long long)d.get_written_volume(),
             d.get_io_wait_time(), d.get_pio_time());
    return s;
}
#define STX_NOW() stxxl::stats_data(*stxxl::stats::get_instance())
#endif
