"""What a wrapper does, in order: kernel calls, renamed buffers, size symbols, inputs, constants.

C++ (AOTI and `cpp_wrapper`) and Python wrappers are read by the same lines. Sources: torch 2.13,
_inductor/codegen/wrapper.py, cpp_wrapper_cpu.py, cpp_wrapper_gpu.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from aoti_logscan.lazy_re import lazy_re

# // Topologically Sorted Source Nodes: [linear], Original ATen: [aten.t, aten.addmm]
_NODES = lazy_re(
    r"(?://|#) .*?Source Nodes: \[(?P<nodes>[^\[\]]*)\], Original ATen: \[(?P<ops>[^\[\]]*)\]"
)
# // [Provenance debug handles] cpp_fused_mul_sin_0:1
_HANDLE = lazy_re(r"(?://|#) \[Provenance debug handles\] (?P<handle>\S+)")
# KernelContextGuard _ctx("triton_poi_fused_0", R"(
_GUARD = lazy_re(r'KernelContextGuard _ctx\("[^"]*", R"\((?P<rest>.*)$')
# int64_t s77 = arg3_1_size[0];      s77 = arg3_1_size[0]
_SIZE = lazy_re(
    r"(?:const )?(?:int64_t |auto )?(?P<symbol>\w+) = (?P<tensor>\w+?)"
    r"(?:_size|\.sizes?\(\)|\.shape)\[(?P<dim>\d{1,3})\];?$"
)
# int64_t s19 = s18;      s12 = arg0_1      triton_poi_fused_0_xnumel = 64*s12
_SYMBOL = lazy_re(
    r"(?:int64_t )?(?P<symbol>[suz]\d+|ps\d+|\w+numel) = (?P<value>[\w\s()*+\-/%.,:<>]+?);?$"
)
# auto arg0_1 = std::move(inputs[0]);
_MOVED_INPUT = lazy_re(r"auto (?P<name>\w+) = std::move\(inputs\[(?P<position>\d{1,6})\]\);")
# [[maybe_unused]] auto& w = constants_->at(0);
_CONSTANT = lazy_re(
    r"\[\[maybe_unused\]\] auto& (?P<name>\w+) = constants_->at\((?P<at>\d{1,6})\);"
)
# AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_item_int64(inputs[0], &arg0_1));
_SIZE_INPUT = lazy_re(
    r"AOTI_TORCH_ERROR_CODE_CHECK\(aoti_torch_item_\w+\(inputs\[(?P<position>\d{1,6})\], "
    r"&(?P<name>\w+)\)\);"
)
# AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_new_uninitialized_tensor(&buf2_handle));
_OUTPUT = lazy_re(
    r"AOTI_TORCH_ERROR_CODE_CHECK\(aoti_torch_new_uninitialized_tensor\(&(?P<name>\w+)\)\);"
)
# AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(buf0, &tmp_buf0_0));
_HANDLE_OF = lazy_re(
    r"(?:AOTI_TORCH_ERROR_CODE_CHECK\()?aoti_torch_new_tensor_handle\((?P<of>\w+), &(?P<name>\w+)\)"
)
# std::array<StableIValue, 2> dispatch_vars{torch::stable::detail::from(tmp_var_0), ...};
_DISPATCHED = lazy_re(r"std::array<StableIValue, \d+> dispatch_vars\{(?P<members>.*)\};$")
# buf2 = torch::stable::detail::to<AtenTensorHandle>(dispatch_vars[0]);
_RESULT = lazy_re(r"(?P<name>\w+) = torch::stable::detail::to<AtenTensorHandle>\(dispatch_vars\[")
# auto buf1 = std::move(buf0);  // reuse       buf1 = buf0; del buf0  # reuse
# buf3 = reinterpret_tensor(buf1, (4, 2), (2, 1), 0); del buf1  # reuse
_ALIAS = lazy_re(
    r"(?:auto |RAIIAtenTensorHandle )?(?P<name>\w+)(?: = |\()"
    r"(?:(?:std::move|wrap_with_raii_handle_if_needed|reinterpret_tensor(?:_wrapper)?)\(){0,3}"
    r"(?P<of>\w+)(?:[,);].*)?$"
)
# buf0 = empty_strided_cpu((4, 2), (2, 1), torch.float32)
# AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(2, int_array_0, ..., &buf0_handle));
_NEW = lazy_re(
    r"(?:(?P<name>buf\d+) = empty_strided|"
    r"AOTI_TORCH_ERROR_CODE_CHECK\(aoti_torch_empty_strided\w*\(.*&(?P<handle>buf\d+)_handle\)\);)"
)
# buf4 = buf3[0]
_ITEM = lazy_re(r"(?P<name>\w+) = (?P<of>\w+)\[\d+\]$")
_BUFFER = lazy_re(r"^(?:buf\d+|arg\d+_\d+|primals_\d+|tangents_\d+|tmp_tensor_handle_\d+|var_\d+)")
#     arg0_1, arg1_1 = args
_PYTHON_INPUTS = lazy_re(r"(?P<names>\w+(?:, \w+)*),? = args$")
# assert_size_stride(arg3_1, (s88, 64), (64, 1), 'input')    ... {s18, 16L}, {16L, 1L}, "input");
_SIZE_STRIDE = lazy_re(
    r"assert_size_stride\((?P<name>\w+), [({](?P<sizes>[^(){}]*)[)}], [({](?P<strides>[^(){}]*)[)}]"
)
# inputs_info_[0].name = "arg0_1";
_INPUT_NAME = lazy_re(r'inputs_info_\[(?P<position>\d{1,6})\]\.name = "(?P<name>[^"]*)";')
# constants_info_[0].original_fqn = "layer.weight";
_CONSTANT_INFO = lazy_re(
    r'constants_info_\[(?P<at>\d{1,6})\]\.(?P<key>name|original_fqn) = "(?P<value>[^"]*)";'
)
# if (16 != arg0_1_size[1]) {     if (arg0_1_size[0] < 2) {     if (16 != arg0_1_stride[0]) {
_CHECKED = lazy_re(
    r"if \((?:(?P<exact>\d{1,19}) != )?(?P<name>\w+)_(?P<what>size|stride)\[(?P<dim>\d{1,3})\]"
    r"(?: (?P<sign>[<>]) (?P<limit>\d{1,19}))?\) \{"
)
# int32_t arg0_1_expected_dtype = aoti_torch_dtype_float32();
_DTYPE = lazy_re(r"int32_t (?P<name>\w+)_expected_dtype = aoti_torch_dtype_(?P<dtype>\w+)\(\);")
# << "expected: " << arg0_1_expected_device_type << "1(cuda), "
_DEVICE = lazy_re(r'<< (?P<name>\w+)_expected_device_type << "\d+\((?P<device>\w+)\)')
# call_triton_poi_fused_0(   cpp_fused_0(   aoti_torch_cuda_mm_out(   triton_poi_fused_0.run(
# extern_kernels.mm(   torch.ops.mylib.boom.default(
_CALL = lazy_re(
    r"^(?:AOTI_TORCH_ERROR_CODE_CHECK\()?(?:(?:auto )?(?P<target>\w+(?:, \w+)*) = )?"
    r"(?P<called>call_\w++|(?>\w*?(?:triton|cpp)_)\w++|"
    r"aoti_torch_(?:cpu|cuda|xpu|mps)_\w++|aoti_torch_proxy_executor_call_function|"
    r"aoti_torch_call_dispatcher|extern_kernels\.\w++|torch\.ops\.[\w.]++|aten\.[\w.]++)"
    r"(?:\.run)?\((?P<rest>.*)$"
)
# launchKernel(kernels.triton_poi_fused_0, grid_0, ..., kernel_args_var_0, stream);
_LAUNCH = lazy_re(r"launchKernel\(kernels\.(?P<called>\w+),.*?\b(?P<array>kernel_args_\w*)\b")
# void* kernel_args_var_0[] = {&var_0, &var_1};
_ARRAY = lazy_re(r"void\* (?P<array>kernel_args_\w*)\[\] = \{(?P<members>[^}]*)\};")
# CUdeviceptr var_0 = reinterpret_cast<CUdeviceptr>(arg0_1.data_ptr());    auto var_2 = s0;
_VARIABLE = lazy_re(
    r"(?:CUdeviceptr|int64_t|int32_t|auto|int|float|double) (?P<name>var_\d+) = (?P<value>.+);$"
)
#: the call of an operator that the proxy executor runs
PROXY_CALL = "aoti_torch_proxy_executor_call_function"
_NAME = lazy_re(r"\b[A-Za-z_]\w*+")
#: functions of the runtime that launch nothing
_NO_KERNEL = lazy_re(
    r"^(?:aoti_torch_(?:cpu|cuda|xpu)_(?:get_|set_|guard)\w*|triton_helpers|cpp_prefix)"
)
#: characters of a line that are read
_MAX_LINE = 20_000
#: results of one call that are taken out after it
MAX_RESULTS = 1_000


class Input(NamedTuple):
    """A graph input as the wrapper's checks know it.

    `sizes` and `strides` are as written (numbers or symbols), None where nothing asserts them;
    `lower` and `upper` are checked bounds by dim; `is_size` is true of a size that is an input.
    """

    position: int
    name: str
    dtype: str | None = None
    device: str | None = None
    sizes: tuple[str, ...] | None = None
    strides: tuple[str, ...] | None = None
    lower: Mapping[int, int] = MappingProxyType({})
    upper: Mapping[int, int] = MappingProxyType({})
    is_size: bool = False


def may_check(known: Input, of: str, dim: int | None, expected: object) -> bool:
    """Whether the wrapper's checks of an input may be those that refused it.

    `of` is the refused property; False where what is compiled in says something else.
    """
    at = -1 if dim is None else dim
    told: dict[str, object] = {
        "dtype": known.dtype,
        "device": known.device,
        "dim": known.lower.get(at) if known.lower.get(at) == known.upper.get(at) else "?",
        "dim-lower-bound": known.lower.get(at, "?"),
        "dim-upper-bound": known.upper.get(at, "?"),
        "stride": next(iter((known.strides or ())[at : at + 1]), None) if at >= 0 else None,
    }
    checked = told.get(of)
    return checked is None or str(checked) == str(expected)


def expected(of: Input) -> str | None:
    """What is expected of an input, as `float32 [s77 (2 to 64), 16], strides [16, 1], on cuda`."""
    parts = [of.dtype] if of.dtype else []
    if of.sizes is not None:
        sizes = ", ".join(_size(of, dim, extent) for dim, extent in enumerate(of.sizes))
        parts.append(f"[{sizes}]")
    told = [" ".join(parts)] if parts else []
    told += [f"strides [{', '.join(of.strides)}]"] if of.strides else []
    told += [f"on {of.device}"] if of.device else []
    return ", ".join(told) or None


def _size(of: Input, dim: int, extent: str) -> str:
    lower, upper = of.lower.get(dim), of.upper.get(dim)
    if extent.isdecimal() or (lower is None and upper is None):
        return extent
    low = "" if lower is None else f"{lower} "
    high = "or more" if upper is None else f"to {upper}" if low else f"up to {upper}"
    return f"{extent} ({low}{high})"


class KernelCall(NamedTuple):
    """A call of a kernel or an operator; `arguments` as written.

    `target` are the names of its results. `nodes`, `ops`, `handle` and `stack` are from the
    comments (and the profiler's guard) above it.
    """

    line: int
    kernel: str
    text: str
    arguments: tuple[str, ...]
    target: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    handle: str | None = None
    stack: tuple[str, ...] = ()


class Alias(NamedTuple):
    """A buffer that is another one under a new name, a view of it, or an item of a tuple.

    One that is itself is new: nothing is in it.
    """

    name: str
    of: str
    is_item: bool = False


@dataclass(frozen=True)
class Body:
    """A wrapper as read.

    `sizes` maps a symbol to its tensor and dim, `symbols` a symbol to the expression it is set to,
    `constants` the name of a constant to the user's own name of it.
    """

    steps: tuple[KernelCall | Alias, ...]
    inputs: tuple[Input, ...]
    sizes: dict[str, tuple[str, int]]
    symbols: dict[str, str]
    constants: dict[str, str | None]

    @property
    def calls(self) -> tuple[KernelCall, ...]:
        """The kernel calls, in order."""
        return tuple(step for step in self.steps if isinstance(step, KernelCall))

    @cached_property
    def _by_name(self) -> dict[str, Input]:
        return {one.name: one for one in reversed(self.inputs)}

    def input(self, name: str) -> Input | None:
        """The graph input of this name."""
        return self._by_name.get(name)


def read_body(lines: Sequence[str]) -> Body:
    """What the lines of a wrapper do; nothing for any other text."""
    reader = _Reader()
    numbered = enumerate(lines, 1)
    for number, line in numbered:
        if "async_compile." in line and "'''" in line:
            _skip_source(numbered, line)
            reader.comment_is_over()
        elif len(line) <= _MAX_LINE:
            reader.read(number, line.strip(), numbered)
    return reader.body()


def _skip_source(numbered: Iterator[tuple[int, str]], line: str) -> None:
    """Pass over the text of a kernel, to the line with its closing quotes."""
    if line.count("'''") > 1:
        return
    for _, inner in numbered:
        if "'''" in inner:
            return


class _Comment:
    """What stood above the next call."""

    def __init__(self) -> None:
        self.nodes: tuple[str, ...] = ()
        self.ops: tuple[str, ...] = ()
        self.handle: str | None = None
        self.stack: tuple[str, ...] = ()


class _Reader:
    def __init__(self) -> None:
        self._steps: list[KernelCall | Alias] = []
        self._sizes: dict[str, tuple[str, int]] = {}
        self._symbols: dict[str, str] = {}
        self._positions: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._constant_info: dict[int, dict[str, str]] = {}
        self._constants: dict[str, int] = {}
        self._checks: dict[str, _Checks] = {}
        self._variables: dict[str, str] = {}
        self._arrays: dict[str, tuple[str, ...]] = {}
        self._outputs: set[str] = set()
        self._size_inputs: set[str] = set()
        self._dispatched = ""
        self._comment = _Comment()

    def comment_is_over(self) -> None:
        """A kernel's definition took the comment above it."""
        self._comment = _Comment()

    def read(self, number: int, line: str, numbered: Iterator[tuple[int, str]]) -> None:
        """Take in one line; of a guard, the lines of its stack too."""
        if not line:
            return
        if line.startswith(("//", "#")):
            self._read_comment(line)
        elif line.startswith("KernelContextGuard"):
            if (guard := _GUARD.match(line)) and ')");' not in guard["rest"]:
                self._comment.stack = tuple(_stack(numbered))
        elif (call := self._call(number, line)) is not None:
            self._steps.append(call)
            self._comment = _Comment()
        elif "_info_[" in line:
            self._read_info(line)
        elif line.startswith(("if (", "int32_t", "<<")):
            self._read_check(line)
        else:
            self._read_statement(line)

    def _read_comment(self, line: str) -> None:
        if nodes := _NODES.match(line):
            self._comment.nodes = _listed(nodes["nodes"])
            self._comment.ops = _listed(nodes["ops"])
        elif handle := _HANDLE.match(line):
            self._comment.handle = handle["handle"]

    def _call(self, number: int, line: str) -> KernelCall | None:
        found = _CALL.match(line)
        if found is None:
            launched = _LAUNCH.match(line)
            if launched is None:
                return None
            members = self._arrays.get(launched["array"], ())
            values = tuple(self._variables.get(member, member) for member in members)
            return self._with_comment(number, launched["called"], line, values, ())
        called = found["called"].removeprefix("call_")
        if _NO_KERNEL.match(called):
            return None
        if called == "aoti_torch_call_dispatcher":
            values = tuple(split_arguments(self._dispatched))
            return self._with_comment(number, called, line, values, ())
        arguments = tuple(split_arguments(found["rest"]))
        target = _listed(found["target"] or "")
        if called == PROXY_CALL:
            target = tuple(name for name in proxied(arguments) if name in self._outputs)
        return self._with_comment(number, called, line, arguments, target)

    def _with_comment(
        self,
        number: int,
        kernel: str,
        line: str,
        arguments: tuple[str, ...],
        target: tuple[str, ...],
    ) -> KernelCall:
        above = self._comment
        return KernelCall(
            line=number,
            kernel=kernel,
            text=line,
            arguments=arguments,
            target=target,
            nodes=above.nodes,
            ops=above.ops,
            handle=above.handle,
            stack=above.stack,
        )

    def _read_info(self, line: str) -> None:
        if found := _INPUT_NAME.match(line):
            self._names[int(found["position"])] = found["name"]
        elif found := _CONSTANT_INFO.match(line):
            self._constant_info.setdefault(int(found["at"]), {})[found["key"]] = found["value"]

    def _read_check(self, line: str) -> None:
        if found := _CHECKED.match(line):
            self._of(found["name"]).take(found)
        elif found := _DTYPE.match(line):
            self._of(found["name"]).dtype = found["dtype"]
        elif found := _DEVICE.search(line):
            self._of(found["name"]).device = found["device"]
        elif found := _SIZE_STRIDE.search(line):
            self._of(found["name"]).shape(found)

    def _read_statement(self, line: str) -> None:
        if found := _MOVED_INPUT.match(line):
            self._positions[found["name"]] = int(found["position"])
        elif found := _CONSTANT.match(line):
            self._constants[found["name"]] = int(found["at"])
        elif found := _SIZE_STRIDE.match(line):
            self._of(found["name"]).shape(found)
        elif found := _SIZE.match(line):
            self._sizes.setdefault(found["symbol"], (found["tensor"], int(found["dim"])))
        elif found := _VARIABLE.match(line):
            self._variables[found["name"]] = found["value"]
        elif found := _ARRAY.match(line):
            members = (member.strip().lstrip("&") for member in found["members"].split(","))
            self._arrays[found["array"]] = tuple(members)
        elif found := _SYMBOL.match(line):
            self._symbols.setdefault(found["symbol"], found["value"].strip())
        elif found := _PYTHON_INPUTS.match(line):
            for position, name in enumerate(found["names"].split(", ")):
                self._positions.setdefault(name, position)
        else:
            self._read_buffer(line)

    def _read_buffer(self, line: str) -> None:
        if found := _SIZE_INPUT.match(line):
            self._positions[found["name"]] = int(found["position"])
            self._size_inputs.add(found["name"])
        elif found := _NEW.match(line):
            name = found["name"] or found["handle"]
            self._steps.append(Alias(name, name))
        elif found := _OUTPUT.match(line):
            self._outputs.add(found["name"].removesuffix("_handle"))
        elif found := _DISPATCHED.match(line):
            self._dispatched = found["members"]
        elif found := _RESULT.match(line):
            self._result(found["name"])
        elif found := _HANDLE_OF.match(line):
            self._alias(found["name"], found["of"])
        elif found := _ITEM.match(line):
            self._alias(found["name"], found["of"], is_item=True)
        elif found := _ALIAS.match(line):
            self._alias(found["name"], found["of"])

    def _result(self, name: str) -> None:
        """A result of the last call, which is taken out after it."""
        last = self._steps[-1] if self._steps else None
        if not isinstance(last, KernelCall) or len(last.target) == MAX_RESULTS:
            return
        if last.kernel == "aoti_torch_call_dispatcher":
            self._steps[-1] = last._replace(target=(*last.target, name))

    def _alias(self, name: str, of: str, *, is_item: bool = False) -> None:
        if _BUFFER.match(of) and name != of and not of.endswith(("_handle", "_size", "_stride")):
            self._steps.append(Alias(name, of, is_item))

    def _of(self, name: str) -> _Checks:
        return self._checks.setdefault(name, _Checks())

    def body(self) -> Body:
        """Everything that was read."""
        names = self._names or {position: name for name, position in self._positions.items()}
        sizes_given = {value for value in self._symbols.values() if value in self._positions}
        sizes_given |= self._size_inputs
        named = {info["name"]: at for at, info in self._constant_info.items() if "name" in info}
        constants = {
            name: self._constant_info.get(at, {}).get("original_fqn")
            for name, at in (named | self._constants).items()
        }
        inputs = tuple(
            self._checks.get(name, _Checks()).input(position, name, name in sizes_given)
            for position, name in sorted(names.items())
        )
        return Body(tuple(self._steps), inputs, self._sizes, self._symbols, constants)


class _Checks:
    """What the checks of one input say."""

    def __init__(self) -> None:
        self.dtype: str | None = None
        self.device: str | None = None
        self._sizes: tuple[str, ...] | None = None
        self._strides: tuple[str, ...] | None = None
        self._lower: dict[int, int] = {}
        self._upper: dict[int, int] = {}
        self._exact: dict[str, dict[int, str]] = {"size": {}, "stride": {}}

    def take(self, found: re.Match[str]) -> None:
        dim = int(found["dim"])
        if found["exact"] is not None:
            self._exact[found["what"]][dim] = found["exact"]
            if found["what"] == "size":
                self._lower[dim] = self._upper[dim] = int(found["exact"])
        elif found["sign"] is not None and found["what"] == "size":
            limits = self._lower if found["sign"] == "<" else self._upper
            limits[dim] = int(found["limit"])

    def shape(self, found: re.Match[str]) -> None:
        self._sizes = tuple(number(one) for one in _listed(found["sizes"]))
        self._strides = tuple(number(one) for one in _listed(found["strides"]))

    def input(self, position: int, name: str, is_size: bool) -> Input:
        return Input(
            position=position,
            name=name,
            dtype=self.dtype,
            device=self.device,
            sizes=self._sizes or _filled(self._exact["size"], self._lower, self._upper),
            strides=self._strides or _filled(self._exact["stride"]),
            lower=self._lower,
            upper=self._upper,
            is_size=is_size,
        )


def _filled(exact: dict[int, str], *others: dict[int, int]) -> tuple[str, ...] | None:
    """Sizes by dim, `?` where only bounds are checked; None where nothing is."""
    dims = {*exact, *(dim for other in others for dim in other)}
    return tuple(exact.get(dim, "?") for dim in range(max(dims) + 1)) if dims else None


def _stack(numbered: Iterator[tuple[int, str]]) -> Iterator[str]:
    """The stack in a guard: one entry for each `File` line, with the code below it."""
    entry: list[str] = []
    for _, inner in numbered:
        text, ends, _ = inner.partition(')");')
        if text.lstrip().startswith("File ") and entry:
            yield "\n".join(entry)
            entry = []
        if text.strip(" ^~"):
            entry.append(text.rstrip() if entry else text.strip())
        if ends:
            break
    if entry:
        yield "\n".join(entry)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


# 16L   3LL
_INTEGER = lazy_re(r"^(-?\d+)[lLuU]*$")


def number(text: str) -> str:
    """A C++ integer without its suffix; any other text as it is."""
    found = _INTEGER.match(text.strip())
    return found[1] if found else text.strip()


def split_arguments(text: str) -> Iterator[str]:
    """The arguments up to the parenthesis that closes the call."""
    depth, begin = 0, 0
    for at, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0:
                yield from _argument(text[begin:at])
                return
            depth -= 1
        elif char == "," and depth == 0:
            yield from _argument(text[begin:at])
            begin = at + 1
    yield from _argument(text[begin:])


def _argument(text: str) -> Iterator[str]:
    if text.strip():
        yield text.strip()


def proxied(arguments: Sequence[str]) -> Iterator[str]:
    """The tensors that a call through the proxy executor is given, its results among them."""
    _, _, members = (arguments[-1] if arguments else "").partition("{")
    yield from (member.strip() for member in members.partition("}")[0].split(",") if member.strip())


def tensor_of(argument: str) -> str | None:
    """The buffer, input or constant that an argument is or views; None for a number."""
    cleaned = argument.partition("=")[2] if re.match(r"\w+=", argument) else argument
    return next((name for name in _NAME.findall(cleaned) if name not in _WORDS), None)


#: words of casts and views around a name
_WORDS = frozenset(
    {"const", "float", "double", "int", "bool", "void", "long", "char", "half", "bfloat16"}
    | {"int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "at", "c10", "BFloat16", "Half"}
    | {"std", "move", "this", "array", "AtenTensorHandle", "reinterpret_cast", "CUdeviceptr"}
    | {"reinterpret_tensor", "reinterpret_tensor_wrapper", "wrap_with_raii_handle_if_needed"}
    | {"c_void_p", "data_ptr", "convert_arrayref_tensor_to_tensor", "RAIIAtenTensorHandle"}
    | {"torch", "stable", "detail", "from"}
)
