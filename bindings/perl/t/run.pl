# SPDX-License-Identifier: BSL-1.0
# Run the tests beside this file, and sum up.
use strict;
use warnings;
use File::Basename;
use TAP::Harness;
my $harness = TAP::Harness->new({lib => \@INC, verbosity => -1});
my $sum = $harness->runtests(glob dirname(__FILE__) . '/*.t');
my $failed = $sum->failed || !$sum->all_passed + 0;
printf "%d passed, %d failed\n", scalar $sum->passed, $failed;
exit($failed ? 1 : 0);
