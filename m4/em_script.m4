# SPDX-License-Identifier: BSL-1.0
# EM_SCRIPT_BINDINGS: what --with-lua, --with-perl, --with-ruby and --with-tcl need, or a message that says what is
# missing.  Sets em_lua, LUA, LUA_CPPFLAGS and the conditional WITH_LUA; likewise for the others.

# EM_SCRIPT_BINDING(NAME, variable's NAME, title, programs, what prints the flags, header, packages)
AC_DEFUN([EM_SCRIPT_BINDING], [
AC_ARG_WITH([$1],
  [AS_HELP_STRING([--with-$1], [build the binding for $3, for make check-$1; needs SWIG 4.5, unless the release has
                   what that makes])], [], [with_$1=no])
AC_ARG_VAR([$2], [$3])
AC_ARG_VAR([$2_CPPFLAGS], [where $6 is, in place of what $3 says])
em_$1=no
AS_IF([test "$with_$1" != no], [
  AC_CHECK_PROGS([$2], [$4])
  AC_MSG_CHECKING([for $6 of $3])
  AS_IF([test -z "$$2_CPPFLAGS"], [$2_CPPFLAGS=`$5`])
  em_saved_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $$2_CPPFLAGS"
  AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <$6>]])], [em_$1=yes])
  CPPFLAGS=$em_saved_CPPFLAGS
  AC_MSG_RESULT([$em_$1 ($$2_CPPFLAGS)])
  AS_IF([test "$em_$1" = no || test -z "$$2"],
    [AC_MSG_ERROR([--with-$1 needs $3 and $6 (Debian and Ubuntu: $7); $2=... and
$2_CPPFLAGS=... name others])])
  EM_WANT_WRAPPER([$1])
])
AM_CONDITIONAL([WITH_$2], [test "$em_$1" = yes])
])

AC_DEFUN([EM_SCRIPT_BINDINGS], [
EM_SCRIPT_BINDING([lua], [LUA], [Lua 5.4], [lua5.4 lua54 lua],
  [${PKG_CONFIG:-pkg-config} --cflags lua5.4 2>/dev/null || ${PKG_CONFIG:-pkg-config} --cflags lua 2>/dev/null], [lua.h],
  [lua5.4 liblua5.4-dev])
EM_SCRIPT_BINDING([perl], [PERL], [Perl], [perl],
  [$PERL -MConfig -e 'print "$Config{ccflags} -I$Config{archlibexp}/CORE"' 2>/dev/null], [EXTERN.h], [libperl-dev])
EM_SCRIPT_BINDING([ruby], [RUBY], [Ruby], [ruby],
  [$RUBY -rrbconfig -e 'puts %w(rubyhdrdir rubyarchhdrdir).map { |name| "-I" + RbConfig::CONFIG@<:@name@:>@ }.join(" ")' 2>/dev/null],
  [ruby/version.h], [ruby-dev])
AC_ARG_VAR([CXXFLAGS], [C++ compiler flags, for the binding for Ruby])
: ${CXXFLAGS="-O2 -g"}
])
