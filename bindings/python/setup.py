# SPDX-License-Identifier: BSL-1.0
"""How the module is built, and from what.

The library is built with it, and linked statically: so the wheel is one file that fits no other version by accident,
and nobody needs to have installed the library before.  EXTMEM_SYSTEM=1 links an installed one, found by pkg-config, as
distributions want it; EXTMEM_BUILT=folder takes what a build in this folder has made for its shared library.

The sources of the library are those around this folder, or, in a source package, those in its folder core/, which
making one fills.  EXTMEM_CONFIGURE has more arguments for configure, such as --without-libaio --without-lz4 for a wheel
that needs nothing but the C library.
"""
import os
import shlex
import shutil
import subprocess
import sysconfig

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
CORE = os.path.join(HERE, "core")
TOP = CORE if os.path.isdir(CORE) else os.path.dirname(os.path.dirname(HERE))
WRAP = os.path.join(HERE, "extmem_wrap.c")
# What the library and the module are built from.
PARTS = ("Makefile.am", "configure.ac", "autogen.sh", "extmem.pc.in", "LICENSE", "include", "src", "m4", "tests",
         "examples", "bench", "doc", "scripts", "bindings", ".ci", ".clang-format", ".editorconfig", "CHANGELOG.md",
         "CONTRIBUTING.md", "README.md", "configure", "Makefile.in", "aclocal.m4", "config.h.in", "build-aux")


def version():
    with open(os.path.join(TOP, "include", "extmem", "base.h"), encoding="ascii") as f:
        return next(line.split('"')[1] for line in f if line.startswith("#define EM_VERSION_STRING"))


def run(*command, cwd=None):
    subprocess.run(command, cwd=cwd, check=True, stdin=subprocess.DEVNULL)


def flags(*arguments):
    return shlex.split(subprocess.run(("pkg-config", *arguments, "extmem"), check=True, capture_output=True,
                                      text=True).stdout)


def generate(to):
    """What SWIG and awk make, in a folder."""
    os.makedirs(to, exist_ok=True)
    include = os.path.join(TOP, "include")
    headers = sorted(os.path.join(folder, name) for part in ("extmem", "extmem/sys")
                     for folder in [os.path.join(include, part)] for name in os.listdir(folder) if name.endswith(".h"))
    with open(os.path.join(to, "fields.h"), "wb") as f:
        subprocess.run(["awk", "-f", os.path.join(TOP, "bindings", "fields.awk"), *headers], check=True, stdout=f)
    wrap = os.path.join(to, "extmem_wrap.c")
    if os.path.exists(WRAP):
        shutil.copy(WRAP, wrap)
    else:
        unused = os.path.join(to, "unused")
        os.makedirs(unused, exist_ok=True)
        made = os.path.join(unused, "made.c")
        run("swig", "-python", "-I" + include, "-I" + os.path.join(TOP, "bindings"), "-outdir", unused, "-o", made,
            os.path.join(TOP, "bindings", "extmem.i"))
        with open(made, encoding="utf-8") as f, open(wrap, "w", encoding="utf-8") as to_:
            to_.write("/* SPDX-License-Identifier: BSL-1.0 */\n" + f.read())
    return wrap


class Build(build_ext):
    def build_extension(self, ext):
        to = os.path.abspath(os.path.join(self.build_temp, "extmem"))
        ext.sources = [os.path.relpath(generate(to), HERE)]
        ext.include_dirs += [to, os.path.join(TOP, "bindings")]
        if os.environ.get("EXTMEM_SYSTEM"):
            ext.extra_compile_args += flags("--cflags")
            ext.extra_link_args += flags("--libs")
        else:
            self.core(ext, to)
        super().build_extension(ext)

    def core(self, ext, to):
        built = os.environ.get("EXTMEM_BUILT") or self.build_core(to)
        ext.include_dirs.append(os.path.join(TOP, "include"))
        # All objects; one that makes no static library has them for the shared one.
        archives = [os.path.join(built, ".libs", name) for name in ("libextmem.a", "libextmem_internal.a")]
        ext.extra_objects.append(next(filter(os.path.exists, archives)))
        with open(os.path.join(built, "extmem.pc"), encoding="ascii") as f:
            ext.extra_link_args += [word for line in f if line.startswith("Libs.private:") for word in line.split()[1:]]
        ext.extra_link_args += ["-Wl,--exclude-libs,ALL", "-Wl,-s"]

    def build_core(self, to):
        built = os.path.join(to, "core")
        os.makedirs(built, exist_ok=True)
        source = TOP
        if not os.path.exists(os.path.join(TOP, "configure")):
            # Nothing is made in a clone.
            source = os.path.join(to, "source")
            shutil.rmtree(source, ignore_errors=True)
            copy_core(source)
            run("sh", "autogen.sh", cwd=source)
        if not os.path.exists(os.path.join(built, "Makefile")):
            run(os.path.join(source, "configure"), "-q", "--disable-shared", "--with-pic", "--without-python",
                "CFLAGS=-O2",
                *shlex.split(os.environ.get("EXTMEM_CONFIGURE", "")), cwd=built)
        run("make", "-s", "-j", str(os.cpu_count() or 1), "libextmem.la", "extmem.pc", cwd=built)
        return built


def copy_core(to):
    os.makedirs(to)
    for part in PARTS:
        path = os.path.join(TOP, part)
        if os.path.isdir(path):
            shutil.copytree(path, os.path.join(to, part), ignore=shutil.ignore_patterns(
                "core", "build", "dist", "*.egg-info", "__pycache__", "stage", "*.o", "*.lo", "*.so", ".deps", ".libs",
                "*.cache"))
        elif os.path.exists(path):
            shutil.copy(path, os.path.join(to, part))


class Source(sdist):
    """A source package has what SWIG makes, and the library with its configure."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        wrap = generate(os.path.abspath(os.path.join("build", "sdist")))
        shutil.copy(wrap, os.path.join(base_dir, "extmem_wrap.c"))
        core = os.path.join(base_dir, "core")
        if not os.path.isdir(core):
            copy_core(core)
            if not os.path.exists(os.path.join(core, "configure")):
                run("sh", "autogen.sh", cwd=core)


class Wheel(bdist_wheel):
    def finalize_options(self):
        self.py_limited_api = "cp311"
        super().finalize_options()


setup(
    version=version(),
    ext_modules=[Extension("extmem._extmem", ["extmem_wrap.c"], py_limited_api=True,
                           define_macros=[("Py_LIMITED_API", "0x030b0000")],
                           extra_compile_args=["-Wno-unused", "-O2"] + (["-g0"] if not sysconfig.get_config_var(
                               "Py_DEBUG") else []))],
    cmdclass={"build_ext": Build, "sdist": Source, "bdist_wheel": Wheel},
)
