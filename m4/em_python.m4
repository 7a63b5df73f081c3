# SPDX-License-Identifier: BSL-1.0
# EM_PYTHON_BINDING: what --with-python needs, or a message that says what is missing.  Sets em_python, PYTHON,
# PYTHON_CPPFLAGS and SWIG, and the conditionals WITH_PYTHON and HAVE_SWIG.
AC_DEFUN([EM_PYTHON_BINDING], [
AC_ARG_WITH([python],
  [AS_HELP_STRING([--with-python], [build the binding for Python, for make check-python; needs SWIG 4.5
                   (pip install swig), unless the release has what that makes])], [], [with_python=no])
AC_ARG_VAR([PYTHON], [Python, 3.11 or later])
AC_ARG_VAR([SWIG], [SWIG, 4.5 or later])
em_python=no
em_swig=no
PYTHON_CPPFLAGS=
AS_IF([test "$with_python" != no], [
  AC_CHECK_PROGS([PYTHON], [python3 python])
  AC_MSG_CHECKING([for the headers of Python 3.11 or later])
  em_python_include=`$PYTHON -c 'import sys, sysconfig
assert sys.version_info >= (3, 11)
print(sysconfig.get_paths()@<:@"include"@:>@)' 2>/dev/null`
  AS_IF([test -n "$em_python_include" && test -f "$em_python_include/Python.h"],
    [AC_MSG_RESULT([$em_python_include])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([--with-python needs Python 3.11 or later with Python.h (Debian and Ubuntu: python3-dev, Fedora:
python3-devel); PYTHON=... names another one])])
  PYTHON_CPPFLAGS="-I$em_python_include -DPy_LIMITED_API=0x030b0000"
  AC_CHECK_PROGS([SWIG], [swig])
  AC_MSG_CHECKING([for SWIG 4.5 or later])
  em_swig_version=`$SWIG -version 2>/dev/null | sed -n 's/^SWIG Version //p'`
  AS_CASE([$em_swig_version],
    [4.@<:@5-9@:>@*|4.1@<:@0-9@:>@*|@<:@5-9@:>@.*], [em_swig=yes])
  AC_MSG_RESULT([${em_swig_version:-no}])
  AS_IF([test "$em_swig" = no && test ! -f "$srcdir/bindings/python/extmem_wrap.c"],
    [AC_MSG_ERROR([--with-python needs SWIG 4.5 or later: pip install swig; SWIG=... names it.
Releases have what it makes, and do not need it.])])
  em_python=yes
])
AC_SUBST([PYTHON_CPPFLAGS])
AM_CONDITIONAL([WITH_PYTHON], [test "$em_python" = yes])
AM_CONDITIONAL([HAVE_SWIG], [test "$em_swig" = yes])
])
