# SPDX-License-Identifier: BSL-1.0
# EM_SWIG(WRAPPER...): SWIG, if a binding is wanted; without it each wrapper that is wanted must be there, as in
# releases.  EM_WANT_WRAPPER(LANGUAGE) says that one is.  Sets em_swig, SWIG and the conditional HAVE_SWIG.
AC_DEFUN([EM_WANT_WRAPPER], [em_wrappers="$em_wrappers $1"])

AC_DEFUN([EM_SWIG], [
AC_ARG_VAR([SWIG], [SWIG, 4.5 or later])
em_swig=no
AS_IF([test -n "$em_wrappers"], [
  AC_CHECK_PROGS([SWIG], [swig])
  AC_MSG_CHECKING([for SWIG 4.5 or later])
  em_swig_version=`$SWIG -version 2>/dev/null | sed -n 's/^SWIG Version //p'`
  AS_CASE([$em_swig_version],
    [4.@<:@5-9@:>@*|4.1@<:@0-9@:>@*|@<:@5-9@:>@.*], [em_swig=yes])
  AC_MSG_RESULT([${em_swig_version:-no}])
])
AS_IF([test "$em_swig" = no], [
  for em_wrapper in $em_wrappers; do
    em_wrapped=$srcdir/bindings/$em_wrapper
    AS_IF([ls "$em_wrapped"/extmem_wrap.c* "$em_wrapped"/*/*/extmem_wrap.c 2>/dev/null | grep . >/dev/null], [],
      [AC_MSG_ERROR([--with-$em_wrapper needs SWIG 4.5 or later: pip install swig; SWIG=... names it.
Releases have what it makes, and do not need it.])])
  done
])
AM_CONDITIONAL([HAVE_SWIG], [test "$em_swig" = yes])
])
