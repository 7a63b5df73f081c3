# SPDX-License-Identifier: BSL-1.0
"""setuptools, which asks for SWIG only where what that makes is not there: in a clone."""
import os

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F401,F403

_HERE = os.path.dirname(os.path.abspath(__file__))


def _swig():
    return [] if os.path.exists(os.path.join(_HERE, "extmem_wrap.c")) else ["swig >= 4.5"]


def get_requires_for_build_wheel(config_settings=None):
    return build_meta.get_requires_for_build_wheel(config_settings) + _swig()


def get_requires_for_build_editable(config_settings=None):
    return build_meta.get_requires_for_build_editable(config_settings) + _swig()


def get_requires_for_build_sdist(config_settings=None):
    return build_meta.get_requires_for_build_sdist(config_settings) + _swig()
