"""The texts that say: this is on one device and that on another.

    RuntimeError: Expected out tensor to have device cuda:0, but got cpu instead

gives one `DeviceConflict`. `wanted` is the device that was asked for or compiled for, `found` where
the data is. Sources (torch 2.13 where not said otherwise): `check_inplace` and
`resize_out` of the structured kernels; ATen/Functions.cpp, `TensorMaker::make_tensor`;
ATen/cuda/CUDADevice.h, `getDeviceFromPtr`; c10 `common_device_check_failure` (two forms);
aoti_runtime/model_base.h and model_container.h (constants); aoti_runner/*.cpp and
aoti_package/model_package_loader.cpp (loading); Triton's launcher; ATen/TensorUtils.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from aoti_logscan.events import DeviceConflict
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.numbers import integer
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.parsers.scalar_types import device_name
from aoti_logscan.records import Draft, Parsed

NAME = "device_conflict"


class _Form(NamedTuple):
    """One text: its name, the literal it is found by, and what its groups say."""

    name: str
    anchor: bytes
    text: re.Pattern[bytes]


_DEVICE = (
    rb"(?:cpu|cuda|hip|xpu|mps|meta|hpu|xla|mtia|npu|ipu|vulkan|privateuseone|lazy|mkldnn)"
    rb"(?::\d{1,4})?(?![\w:])"
)
_SPOKEN = rb"(?:CPU|GPU|CUDA|XPU|MPS|cpu|gpu|cuda|xpu|mps)\b"
_FORMS = (
    # Expected out tensor to have device cuda:0, but got cpu instead
    _Form(
        "out-tensor",
        b"tensor to have device ",
        lazy_re(
            rb"(?:Expected \w+ )?tensor to have device (?P<wanted>"
            + _DEVICE
            + rb"), but got (?P<found>"
            + _DEVICE
            + rb")"
        ),
    ),
    # Specified device cuda:1 does not match device of data cuda:0
    _Form(
        "data",
        b" does not match device of data ",
        lazy_re(
            rb"Specified device (?P<wanted>" + _DEVICE + rb") does not match device of data"
            rb" (?P<found>" + _DEVICE + rb")"
        ),
    ),
    # The specified pointer resides on host memory and is not registered with any CUDA device.
    _Form(
        "host-pointer",
        b"pointer resides on host memory",
        lazy_re(rb"pointer resides on (?P<host>host memory)[^.\n]*?any (?P<accel>CUDA|HIP|ROCm)"),
    ),
    # Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    _Form(
        "same-device",
        b"tensors to be on the same device",
        lazy_re(
            rb"tensors to be on the same device, but found at least two devices, (?P<first>"
            + _DEVICE
            + rb") and (?P<second>"
            + _DEVICE
            + rb")!"
            rb"(?: \(when checking argument for argument (?P<subject>\w+) in method)?"
        ),
    ),
    # ... but got mat1 is on cpu, different from other tensors on cuda:0 (when checking argument in
    _Form(
        "same-device",
        b"different from other tensors on ",
        lazy_re(
            rb"got (?P<subject>\w+) is on (?P<found>" + _DEVICE + rb"), different from other"
            rb" tensors on (?P<wanted>" + _DEVICE + rb")"
        ),
    ),
    # Tensor on device cpu is not on the expected device meta!
    _Form(
        "same-device",
        b" is not on the expected device ",
        lazy_re(
            rb"Tensor on device (?P<first>" + _DEVICE + rb") is not on the expected device"
            rb" (?P<second>" + _DEVICE + rb")!"
        ),
    ),
    # Constant 'linear_weight' was compiled for a non-CPU device.
    _Form(
        "mixed-constants",
        b"Mixed-device constants are only supported",
        lazy_re(
            rb"Mixed-device constants are only supported[^\n]{0,200}?"
            rb"(?:Constant '(?P<subject>[^'\n]+)' was compiled for a (?P<non_cpu>non-CPU) device|$)"
        ),
    ),
    # update_constant_buffer: constant 'w' is on device type 14 but expected device type 0
    _Form(
        "constant",
        b" is on device type ",
        lazy_re(
            rb"(?:constant '(?P<subject>[^'\n]+)' )?is on device type (?P<found_number>\d+) but"
            rb" expected device type (?P<wanted_number>\d+)"
        ),
    ),
    # Incorrect device passed to aoti_runner_cpu
    _Form(
        "runner",
        b"Incorrect device passed to aoti_runner_",
        lazy_re(rb"Incorrect device passed to aoti_runner_(?P<compiled>[a-z]+)"),
    ),
    # Unsupported device key found: cuda     (older: Unsupported device found: cuda)
    _Form(
        "no-runner",
        b"Unsupported device ",
        lazy_re(rb"Unsupported device (?:key )?found: (?P<compiled>cuda|hip|xpu|mps|cpu|mtia)"),
    ),
    # Cannot load AOTInductor package for device 'cuda' because CUDA is not available
    _Form(
        "no-runner",
        b"Cannot load AOTInductor package for device ",
        lazy_re(rb"Cannot load AOTInductor package for device '(?P<compiled>\w+)' because"),
    ),
    # module 'torch._C._aoti' has no attribute 'AOTIModelContainerRunnerCuda'
    _Form(
        "no-runner-class",
        b"AOTIModelContainerRunner",
        lazy_re(rb"attribute 'AOTIModelContainerRunner(?P<asked>Cuda|Xpu|Mps)'"),
    ),
    # Torch not compiled with CUDA enabled
    _Form(
        "no-backend",
        b"Torch not compiled with ",
        lazy_re(rb"(?<!\")Torch not compiled with (?P<accel>CUDA|XPU|MPS) enabled"),
    ),
    _Form(
        "no-backend",
        b"Found no NVIDIA driver on your system",
        lazy_re(rb"Found no (?P<accel>NVIDIA) driver on your system"),
    ),
    # Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)
    _Form(
        "triton-pointer",
        b" cannot be accessed from Triton",
        lazy_re(
            rb"(?P<subject>Pointer argument \(at \d+\)) cannot be accessed from Triton"
            rb"(?: \((?P<found>cpu) tensor)?"
        ),
    ),
    # Tensor for argument #2 'mat2' is on CPU, but expected it to be on GPU
    _Form(
        "argument",
        b"Tensor for ",
        lazy_re(
            rb"Tensor for (?:argument )?(?:#\d+ )?'?(?P<subject>\w+)'? is on (?P<found>"
            + _SPOKEN
            + rb"),? but expected (?:(?:it|them) to be )?on (?P<wanted>"
            + _SPOKEN
            + rb")"
        ),
    ),
    # Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same
    _Form(
        "tensor-type",
        b"Input type (",
        lazy_re(
            rb"Input type \((?P<found_type>[\w.]+)\) and (?P<subject>weight|bias) type"
            rb" \((?P<wanted_type>[\w.]+)\) should be the same"
        ),
    ),
    # indices should be either on cpu or on the same device as the indexed tensor (cpu)
    _Form(
        "indices",
        b"should be either on cpu or on the same device as the indexed tensor",
        lazy_re(
            rb"(?P<subject>indices) should be either on \S+ or on the same device as the indexed"
            rb" tensor \((?P<wanted>" + _DEVICE + rb")\)"
        ),
    ),
    # Tensor device mismatch! Expected: cpu, Got: cuda:0
    _Form(
        "metadata",
        b"Tensor device mismatch! Expected: ",
        lazy_re(
            rb"Tensor device mismatch! Expected: (?P<wanted>"
            + _DEVICE
            + rb"), Got: (?P<found>"
            + _DEVICE
            + rb")"
        ),
    ),
)
ANCHORS = tuple({form.anchor: None for form in _FORMS})
_BEFORE_ANCHOR = 80
_AFTER_ANCHOR = 1000


def parse(hit: Hit) -> Parsed:
    """One draft for the text at this hit; nothing where it does not say the devices it must."""
    text, column = hit.line.text, hit.column
    for form in _FORMS:
        at = column
        if not text.startswith(form.anchor, at):
            continue
        match = form.text.search(text, max(0, at - _BEFORE_ANCHOR), at + _AFTER_ANCHOR)
        if match is None or match.start() > column:
            continue
        if is_quotation(text, match.start()):
            return ()
        fields = _READ.get(form.name, _devices)(match.groupdict())
        if fields is None:
            return ()
        return (_draft(hit, match, {"form": form.name, **fields}),)
    return ()


def _draft(hit: Hit, match: re.Match[bytes], fields: dict[str, str | None]) -> Draft:
    return Draft.of_line(hit, DeviceConflict, fields, match.start(), tuple(fields.values()))


_Groups = dict[str, bytes | None]
_Fields = dict[str, str | None]


def _word(raw: bytes | None) -> str | None:
    return raw.decode("utf-8", "replace") if raw else None


def _device(raw: bytes | None) -> str | None:
    """A device in torch's spelling: `GPU` and `CUDA` are `cuda`."""
    word = _word(raw)
    if word is None:
        return None
    lower = word.lower()
    return {"gpu": "cuda", "nvidia": "cuda", "rocm": "cuda", "hip": "cuda"}.get(lower, lower)


def _devices(groups: _Groups) -> _Fields:
    return {
        "wanted": _device(groups.get("wanted")),
        "found": _device(groups.get("found")),
        "subject": _word(groups.get("subject")),
    }


def _host_pointer(groups: _Groups) -> _Fields:
    return {"wanted": _device(groups["accel"]), "found": "cpu", "subject": None}


def _two_devices(groups: _Groups) -> _Fields:
    """Of two devices the text does not say which is right; the accelerator is taken for it."""
    if groups.get("wanted"):
        return _devices(groups)
    first, second = _device(groups["first"]), _device(groups["second"])
    accelerated = [device for device in (first, second) if device not in ("cpu", "meta")]
    wanted = accelerated[0] if accelerated else first
    found = second if wanted == first else first
    return {"wanted": wanted, "found": found, "subject": _word(groups.get("subject"))}


def _mixed_constants(groups: _Groups) -> _Fields:
    return {"wanted": None, "found": "cpu", "subject": _word(groups.get("subject"))}


def _numbered(groups: _Groups) -> _Fields:
    wanted, found = groups["wanted_number"], groups["found_number"]
    return {
        "wanted": _named(wanted),
        "found": _named(found),
        "subject": _word(groups["subject"]),
    }


def _named(digits: bytes | None) -> str | None:
    number = integer(digits)
    return device_name(number) if number is not None else None


def _compiled(groups: _Groups) -> _Fields:
    return {"wanted": _device(groups["compiled"]), "found": None, "subject": None}


def _asked(groups: _Groups) -> _Fields:
    return {"wanted": None, "found": _device(groups["asked"]), "subject": None}


def _backend(groups: _Groups) -> _Fields:
    return {"wanted": _device(groups["accel"]), "found": None, "subject": None}


def _tensor_types(groups: _Groups) -> _Fields | None:
    """Devices of two tensor types; None where they differ in dtype only."""
    found, wanted = _type_device(groups["found_type"]), _type_device(groups["wanted_type"])
    if found == wanted:
        return None
    return {"wanted": wanted, "found": found, "subject": _word(groups["subject"])}


def _type_device(raw: bytes | None) -> str | None:
    name = _word(raw) or ""
    if not name.endswith("Tensor"):
        return None
    return next((device for device in ("cuda", "xpu", "mps") if f".{device}." in name), "cpu")


_READ: dict[str, Callable[[_Groups], _Fields | None]] = {
    "host-pointer": _host_pointer,
    "same-device": _two_devices,
    "mixed-constants": _mixed_constants,
    "constant": _numbered,
    "runner": _compiled,
    "no-runner": _compiled,
    "no-runner-class": _asked,
    "no-backend": _backend,
    "tensor-type": _tensor_types,
}
