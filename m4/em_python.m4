# SPDX-License-Identifier: BSL-1.0
# EM_PYTHON_BINDING: what --with-python needs, or a message that says what is missing.  Sets em_python, PYTHON,
# PYTHON_CPPFLAGS, and the conditional WITH_PYTHON.
AC_DEFUN([EM_PYTHON_BINDING], [
AC_ARG_WITH([python],
  [AS_HELP_STRING([--with-python], [build the binding for Python, for make check-python; needs SWIG 4.5
                   (pip install swig), unless the release has what that makes])], [], [with_python=no])
AC_ARG_VAR([PYTHON], [Python, 3.11 or later])
em_python=no
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
  EM_WANT_WRAPPER([python])
  em_python=yes
])
AC_SUBST([PYTHON_CPPFLAGS])
AM_CONDITIONAL([WITH_PYTHON], [test "$em_python" = yes])
])
