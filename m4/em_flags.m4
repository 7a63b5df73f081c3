# SPDX-License-Identifier: BSL-1.0
# Probing flags of the compiler and the linker, one by one.

# EM_TRY_CFLAGS(FLAGS, [PROLOGUE], [BODY], IF-YES, IF-NO)
# Does a program compile and link with FLAGS, all together?  -Werror makes compilers admit that they do not know a flag.
AC_DEFUN([EM_TRY_CFLAGS], [
  em_save_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS -Werror $1"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([$2], [$3])], [em_flag_ok=yes], [em_flag_ok=no])
  CFLAGS=$em_save_CFLAGS
  AS_IF([test "$em_flag_ok" = yes], [$4], [$5])
])

# EM_APPEND_CFLAGS(VARIABLE, FLAGS)
# Append to VARIABLE those of FLAGS, separated by blanks, that the compiler takes.
AC_DEFUN([EM_APPEND_CFLAGS], [
  for em_flag in $2; do
    AC_MSG_CHECKING([whether $CC takes $em_flag])
    EM_TRY_CFLAGS([$em_flag], [], [], [$1="$$1 $em_flag"])
    AC_MSG_RESULT([$em_flag_ok])
  done
])

# EM_TRY_LDFLAGS(FLAGS, IF-YES, IF-NO)
AC_DEFUN([EM_TRY_LDFLAGS], [
  AC_MSG_CHECKING([whether the linker takes $1])
  em_save_LDFLAGS=$LDFLAGS
  LDFLAGS="$LDFLAGS $1"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [em_flag_ok=yes], [em_flag_ok=no])
  LDFLAGS=$em_save_LDFLAGS
  AC_MSG_RESULT([$em_flag_ok])
  AS_IF([test "$em_flag_ok" = yes], [$2], [$3])
])

# EM_KERNEL_ISA(NAME, FLAGS, PROLOGUE, BODY)
# May the kernels be built a second time for an instruction set?  --disable-NAME says no.  Sets EM_CFLAGS_<NAME> and
# the automake conditional and macro HAVE_KERN_<NAME>.  The program that runs chooses among them; nothing here depends
# on the processor that builds.
AC_DEFUN([EM_KERNEL_ISA], [
  m4_pushdef([EM_UP], m4_toupper([$1]))
  AC_ARG_ENABLE([$1], [AS_HELP_STRING([--disable-$1], [leave out the kernels for $1])], [], [enable_$1=yes])
  EM_CFLAGS_[]EM_UP=
  AS_IF([test "$enable_$1" != no], [
    AC_MSG_CHECKING([whether $CC makes code for $1])
    EM_TRY_CFLAGS([$2], [$3], [$4], [EM_CFLAGS_[]EM_UP="$2"], [enable_$1=no])
    AC_MSG_RESULT([$enable_$1])
  ])
  AS_IF([test "$enable_$1" != no],
    [AC_DEFINE([HAVE_KERN_]EM_UP, [1], [Define to 1 if the kernels for $1 are built.])])
  AM_CONDITIONAL([HAVE_KERN_]EM_UP, [test "$enable_$1" != no])
  AC_SUBST([EM_CFLAGS_]EM_UP)
  m4_popdef([EM_UP])
])
