"""Compiled programs are kept between runs, those of tests that call JAX themselves too."""

from vaecp.runtime.compilation import keep_compiled_programs

keep_compiled_programs()
