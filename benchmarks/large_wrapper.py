"""How long a failed assertion takes with a wrapper of thousands of kernels beside the log.

    python benchmarks/large_wrapper.py [KERNELS]

Tiles a recorded wrapper (three Triton kernels, one with an index assertion) under other names, lets
the assertion of its last kernel fail, and prints wall time and peak memory of the command.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from zipfile import ZipFile

from aoti_logscan.artifacts.wrapper_code import source_stem, triton_sources

FIXTURE = Path(__file__).parent.parent / "fixtures" / "lineage-where-minus-one-empty-slots"
PACKAGE = FIXTURE / "input" / "events.pt2"
#: kernels of the recorded wrapper
RECORDED = 3

_RUN = "void AOTInductorModel::run_impl("
_FIRST = "template <typename in_ptr0_type_"
# triton_red_fused__to_copy_cumsum_0
_KERNEL = re.compile(r"\b(triton_(?:poi|red)_fused_\w+?_)(\d)(?=\b|_xnumel\b)")


def recorded() -> str:
    """The wrapper of the recorded package."""
    with ZipFile(PACKAGE) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".wrapper.cpp"))
        return archive.read(name).decode()


def tiled(text: str, kernels: int) -> str:
    """The wrapper with its kernels and their calls repeated under other names."""
    run = text.index(_RUN)
    first, checks = (
        text.index(_FIRST),
        text.index("namespace torch::aot_inductor {", text.index(_FIRST)),
    )
    calls = text.index("    AOTICudaStreamGuard", run)
    done = text.index("    output_handles[0]", calls)
    times = range(-(-kernels // RECORDED))
    bodies = "".join(_renamed(text[first:checks], at) for at in times)
    launches = "".join(_renamed(text[calls:done], at) for at in times)
    return text[:first] + bodies + text[checks:calls] + launches + text[done:]


def _renamed(text: str, at: int) -> str:
    return _KERNEL.sub(lambda match: f"{match[1]}{int(match[2]) + RECORDED * at}", text)


def failing(text: str) -> str:
    """What the GPU prints where the last kernel with an assertion fails it."""
    source = [one.text for one in triton_sources("x.cpp", text) if "device_assert" in one.text][-1]
    line = next(n for n, one in enumerate(source.split("\n"), 1) if "device_assert" in one)
    file = f"/tmp/torchinductor_dev/ab/{source_stem(source)}.py"
    said = "Assertion `index out of bounds: 0 <= tmp9 < ks0` failed."
    return f"{file}:{line}: unknown: block: [0,0,0], thread: [0,0,0] {said}\n"


def main() -> None:
    """Build the input, run the command once, and print what it took."""
    kernels = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    text = tiled(recorded(), kernels)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ("c" + "a" * 51 + ".wrapper.cpp")).write_text(text)
        (Path(folder) / "run.log").write_text(failing(text))
        command = [sys.executable, "-m", "aoti_logscan", folder]
        begun = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        took = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    size = len(text.encode())
    proven = "may be 0" in done.stdout
    print(f"{kernels} kernels, {size / 1e6:.1f} MB: {took:.2f} s, {peak / 1e6:.0f} MB peak")
    print("the failing size was proven" if proven else f"not what it should be:\n{done.stdout}")


if __name__ == "__main__":
    main()
