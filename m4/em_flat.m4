# SPDX-License-Identifier: BSL-1.0
# EM_FLAT_BINDINGS: what --with-node, --with-go and --with-java need, or a message that says what is
# missing.  Sets em_node, em_go, em_java, and the conditionals WITH_NODE, WITH_GO, WITH_JAVA.

# EM_FLAT_BINDING(name, NAME, title)
AC_DEFUN([EM_FLAT_BINDING], [
AC_ARG_WITH([$1],
  [AS_HELP_STRING([--with-$1], [build the binding for $3, for make check-$1; needs SWIG 4.5, unless the release has
                   what that makes])], [], [with_$1=no])
em_$1=no
])

AC_DEFUN([EM_FLAT_BINDINGS], [
EM_FLAT_BINDING([node], [NODE], [Node])
EM_FLAT_BINDING([go], [GO], [Go])
EM_FLAT_BINDING([java], [JAVA], [Java])
AC_ARG_VAR([NODE], [Node, 18.17 or later])
AC_ARG_VAR([NODE_INCLUDE], [where node_api.h is])
AC_ARG_VAR([NODE_ADDON_API], [the folder of the package node-addon-api, where Node does not find it])
AC_ARG_VAR([GO], [Go, 1.23 or later])
AC_ARG_VAR([JAVA_HOME], [where a JDK is, 17 or later; else javac is searched for])

AS_IF([test "$with_node" != no], [
  AC_CHECK_PROGS([NODE], [node nodejs])
  AC_CHECK_PROGS([NODE_CXX], [c++ g++ clang++])
  AC_MSG_CHECKING([for node_api.h])
  AS_IF([test -z "$NODE_INCLUDE"], [NODE_INCLUDE=`$NODE -p '
@<:@"/usr", require("path").dirname(process.execPath) + "/.."@:>@.map(p => p + "/include/node").find(p =>
require("fs").existsSync(p + "/node_api.h")) || ""' 2>/dev/null`])
  AC_MSG_RESULT([${NODE_INCLUDE:-no}])
  AC_MSG_CHECKING([for node-addon-api])
  AS_IF([test -z "$NODE_ADDON_API"], [NODE_ADDON_API=`$NODE -p '
require("path").dirname(require.resolve("node-addon-api"))' 2>/dev/null`])
  AC_MSG_RESULT([${NODE_ADDON_API:-no}])
  AS_IF([test -z "$NODE_CXX" || test ! -f "$NODE_INCLUDE/node_api.h" || test ! -f "$NODE_ADDON_API/napi.h"],
    [AC_MSG_ERROR([--with-node needs Node with its headers (Debian and Ubuntu: nodejs, libnode-dev), a C++ compiler, and
the package node-addon-api (npm install node-addon-api); NODE_INCLUDE=... and NODE_ADDON_API=... say where these are])])
  em_node=yes
  EM_WANT_WRAPPER([node])
])

AS_IF([test "$with_go" != no], [
  AC_CHECK_PROGS([GO], [go])
  AC_MSG_CHECKING([for Go 1.23 or later])
  em_go_version=`$GO env GOVERSION 2>/dev/null | sed 's/^go//'`
  AC_MSG_RESULT([${em_go_version:-no}])
  AS_CASE([$em_go_version], [1.2@<:@3-9@:>@*|1.@<:@3-9@:>@@<:@0-9@:>@*|@<:@2-9@:>@*], [em_go=yes],
    [AC_MSG_ERROR([--with-go needs Go 1.23 or later; GO=... names it])])
  EM_WANT_WRAPPER([go])
])

AS_IF([test "$with_java" != no], [
  em_java_path=${JAVA_HOME:+$JAVA_HOME/bin:}$PATH
  AC_PATH_PROG([JAVAC], [javac], [], [$em_java_path])
  AC_PATH_PROG([JAVA], [java], [], [$em_java_path])
  AC_PATH_PROG([JAR], [jar], [], [$em_java_path])
  AC_MSG_CHECKING([for a JDK, 17 or later])
  em_java_settings=`$JAVA -XshowSettings:properties -version 2>&1`
  em_java_version=`AS_ECHO(["$em_java_settings"]) | sed -n 's/^ *java.specification.version = //p'`
  em_java_home=`AS_ECHO(["$em_java_settings"]) | sed -n 's/^ *java.home = //p'`
  JAVA_PLATFORM=`AS_ECHO(["$em_java_settings"]) | sed -n 's/^ *os.name = //p'`-`AS_ECHO(["$em_java_settings"]) |
    sed -n 's/^ *os.arch = //p'`
  AC_MSG_RESULT([${em_java_version:-no}])
  AS_IF([test -z "$JAVAC" || test -z "$JAR" || test "${em_java_version:-0}" -lt 17 2>/dev/null ||
      test ! -f "$em_java_home/include/jni.h"],
    [AC_MSG_ERROR([--with-java needs a JDK, 17 or later, with jni.h (Debian and Ubuntu: default-jdk-headless);
JAVA_HOME=... says where it is])])
  JAVA_CPPFLAGS="-I$em_java_home/include -I$em_java_home/include/linux"
  AC_SUBST([JAVA_CPPFLAGS])
  AC_SUBST([JAVA_PLATFORM])
  em_java=yes
  EM_WANT_WRAPPER([java])
])
AM_CONDITIONAL([WITH_NODE], [test "$em_node" = yes])
AM_CONDITIONAL([WITH_GO], [test "$em_go" = yes])
AM_CONDITIONAL([WITH_JAVA], [test "$em_java" = yes])
])
