"""Every log format as a grammar: for each parser the forms of its records, with drawn words.

`FORMATS` has the forms by the parser's `NAME`. A form is a name and a strategy for the whole text
of one undamaged record, as the program wrote it. What launchers, terminals and accidents do to a
text is in `damage`.
"""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from tests.fuzz.forms import Form, forms, lines, several
from tests.fuzz.generated import RUN_RECORDS, TORCH_LOGS, TRACES
from tests.fuzz.words import Words, joined, listed, one_of, said

# --- tracebacks

_HEAD = "Traceback (most recent call last):\n"
_FRAMES = listed(
    st.one_of(
        said('  File "{path}", line {line}, in {name}\n    {text}\n    ~~~^^^^\n'),
        said('  File "{py}", line {line}, in <module>\n    {name}({arguments})\n'),
        said('  File "<string>", line {line}\n'),
        said(
            '  File "{py}", line {line}, in {name}\n  [Previous line repeated {index} more times]\n'
        ),
    ),
    "",
    1,
    5,
)
_RAISED = said("{exception}: {message}\n")
TRACEBACK: Words = joined("", st.just(_HEAD), _FRAMES, _RAISED)
_CHAINS = one_of(
    "\nThe above exception was the direct cause of the following exception:\n\n",
    "\nDuring handling of the above exception, another exception occurred:\n\n",
)
_GROUP = st.builds(
    lambda traceback, inner: (
        "  + Exception Group Traceback (most recent call last):\n"
        + "".join(f"  | {line}\n" for line in traceback.splitlines()[1:-1])
        + "  | ExceptionGroup: several (1 sub-exception)\n"
        + "  +-+---------------- 1 ----------------\n"
        + "".join(f"    | {line}\n" for line in inner.splitlines())
        + "    +------------------------------------\n"
    ),
    TRACEBACK,
    TRACEBACK,
)
_TRACEBACKS = (
    Form("traceback", TRACEBACK),
    Form("chain", joined("", TRACEBACK, _CHAINS, TRACEBACK, _CHAINS, TRACEBACK)),
    Form("group", _GROUP),
    Form("cut", joined("", st.just(_HEAD), _FRAMES)),
    Form("several lines of message", joined("", TRACEBACK, several("  {message}", 1, 4))),
    Form(
        "notebook",
        lines(
            said("BackendCompilerFailed                     Traceback (most recent call last)"),
            said("File {py}:{line}, in {name}(self, gm)"),
            said("      {small}     raise BackendCompilerFailed({name}) from e"),
            st.just(""),
            said("BackendCompilerFailed: backend='inductor' raised:"),
            said("{exception}: {message}"),
        ),
    ),
    Form(
        "Triton's source listing",
        joined(
            "",
            st.just(_HEAD),
            _FRAMES,
            said("triton.compiler.errors.CompilationError: at {line}:{small}:\n"),
            several("    {temporary} = tl.load(in_ptr0 + (x0), None)", 1, 30),
            st.just("           ^\n"),
            said("{exception}: {message}\n"),
        ),
    ),
    *forms(
        "torch._inductor.exc.InductorError: LoweringException: {exception}: {message}",
        "torch._dynamo.exc.Unsupported: {message}",
        "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: {message}",
        "triton.compiler.errors.CompilationError: {message}",
    ),
)

# --- assertions and checks

_BOUNDS = "index out of bounds: 0 <= {temporary} < {bound}"
_THREAD = "block: {block}, thread: {block}"
_DSA = (
    "GPU assertion failure message = {name} < {symbol}",
    "  File containing assertion = {cu}:{line}",
    "  Device function containing assertion = {name}",
    "  Thread ID that failed assertion = {block}",
    "  Block ID that failed assertion = {block}",
    "  File containing kernel launch = {cu}:{line}",
)
_DEVICE_ASSERTS = forms(
    "{py}:{line}: unknown: " + _THREAD + " Assertion `" + _BOUNDS + "` failed.",
    "unknown:0: unknown: " + _THREAD + " Assertion `index out of bounds: {temporary} < {bound}`"
    " failed.",
    "{cu}:{line}: {function}: " + _THREAD + " Assertion `-sizes[i] <= index && index < sizes[i] &&"
    ' "index out of bounds"` failed.',
    "{cu}:{line}: {name}: " + _THREAD + " Assertion `t >= 0 && t < n_classes` failed.",
    "C:\\w\\b\\{Class}.cu:{line}: " + _THREAD + " Assertion `{name} < {symbol}` failed.",
    "[CUDA_KERNEL_ASSERT] {cu}:{line}: {name}: " + _THREAD + ": Assertion failed: `{name} <"
    " {symbol}`: {message}",
    "{py}:{line}: {name}: global id: {block}, local id: {block} Assertion `"
    + _BOUNDS
    + "` failed.",
    "device assertion failed: '" + _BOUNDS + "', in {name} at {py}:{line}",
    "{cu}:{line}: {function}: Device-side assertion `{name} < {symbol}' failed.",
    "{py}:{line}: unknown: block:\n{block}, thread: {block} Assertion `" + _BOUNDS + "` failed.",
    "{py}:{line}: unknown: " + _THREAD + "\nAssertion `" + _BOUNDS + "` failed.",
    "  " + "\n".join(_DSA),
)
_INDEX_CHECKS = forms(
    "Error: " + _BOUNDS,
    "RuntimeError: kernel, {path}.main.cpp:{line}, " + _BOUNDS,
    "  what():  index out of bounds: {temporary} < {bound}",
)
_INPUT_CHECKS = forms(
    "Error: input_handles[{index}]: unmatched dtype, expected: {small}(at::kFloat), but got:"
    " {small}",
    "Error: input_handles[{index}]: unmatched device type, expected: 11(cuda), but got: 0",
    "input_handles[{index}]: unmatched dim value at {small}, expected: {size}, but got: {size}",
    "RuntimeError: input_handles[{index}]: dim value is too small at {small}, expected it to be >="
    " {size}, but got: {size}",
    "input_handles[{index}]: dim value is too large at {small}, expected to be <= {size}, but got:"
    " {size}",
    "input_handles[{index}]: unmatched stride value at {small}, expected: {size}, but got: {size}",
    "RuntimeError: expected inputs vector size to be {index}, but got {index}",
    "RuntimeError: expected ndim {small} but got {small}\nError in op: {name}",
    "AssertionError: expected size 4==5, stride {size}=={size} at dim={small}; expected size"
    " {size}=={size}, stride 1==1 at dim={small}\nError in op: input",
    "AssertionError: wrong number of dimensions{small} for op: {name}",
    "AssertionError: Error in op: {name}\nExpect the tensor to be 16 bytes aligned. Fail due to"
    " storage_offset={size} itemsize={small}",
    "RuntimeError: Expected input at *args[{small}].shape[{small}] to be equal to {size}, but got"
    " {size}",
    "RuntimeError: Expected input at *args[{small}].{name} to be >= {size}, but got {size}",
    "AssertionError: Guard failed: {name}.size()[{small}] == {size}",
    "ValueError: Trying to flatten user inputs with exported input tree spec: \nTreeSpec(tuple,"
    " [*,\n  *])\nbut actually got inputs with tree spec of: \nTreeSpec(tuple, [*])\n",
)
_NAN_CHECKS = forms(
    "RuntimeError: At least one NaN in {buffer}_1", "Error: At least one INF in {buffer}_1"
)

# --- loading

_LOAD_ERRORS = forms(
    "ImportError: {so}: undefined symbol: {mangled}, version LIBTORCH_2",
    "OSError: {so}: undefined symbol: c10::{name}(char const*, int) const",
    "python: relocation error: {so}: symbol {mangled}, version LIBC10_2 not defined in file"
    " libc10.so with link time reference",
    "OSError: {so}: cannot open shared object file: No such file or directory",
    "ImportError: {so}: version `GLIBC_2.{index}' not found (required by {so})",
    "OSError: {so}: file too short",
    "OSError: {so}: cannot read file data: Is a directory",
    "OSError: {so}: invalid ELF header",
    "OSError: {so}: ELF load command past end of file",
    "OSError: {so}: object file has no loadable segments",
    "OSError: {so}: wrong ELF class: ELFCLASS32",
    "OSError: {so}: ELF file data encoding not little-endian",
    "OSError: {so}: ELF load command alignment not page-aligned",
    "OSError: {so}: ELF file OS ABI invalid",
    "OSError: {so}: failed to map segment from shared object",
    "OSError: {so}: cannot enable executable stack as shared object requires: Invalid argument",
    "OSError: {so}: cannot allocate memory in static TLS block",
    "bash: {path}: cannot execute binary file: Exec format error",
    "Error relocating {so}: {mangled}: symbol not found",
    "Error loading shared library {so}: No such file or directory (needed by {so})",
    "OSError: dlopen({so}, 0x0006): Library not loaded: @rpath/{name}.dylib",
    "OSError: dlopen({so}, 6): symbol not found in flat namespace '{mangled}'",
    "AttributeError: dlsym({address}, {mangled}): symbol not found",
    "OSError: [WinError 126] The specified module could not be found. Error loading"
    ' "C:\\{name}.dll"'
    " or one of its dependencies.",
    "error in LoadLibrary for C:\\{name}\\{name}.pyd. WinError 193: {message}",
    "ImportError: DLL load failed while importing {name}: The specified procedure could not be"
    " found.",
    "FileNotFoundError: Could not find module '{so}' (or one of its dependencies).",
    "RuntimeError: Error in dlopen for library {so}",
    "OSError: [Errno 8] Exec format error: '{path}'",
    "FileNotFoundError: [Errno 2] No such file or directory: '{pt2}'",
    "RuntimeError: Failed to initialize zip archive: failed finding central directory",
    "RuntimeError: No files found in zip archive.",
    "RuntimeError: Failed to extract zip file {path} to destination file {path}, mz_zip error"
    " string:"
    " {message}",
    "RuntimeError: Failed to read zip filename at index {index}",
    "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central"
    " directory",
    "RuntimeError: [enforce fail at inline_container.cc:{line}] . file not found: {word}/data.pkl",
    "RuntimeError: open file failed because of errno 2 on fopen: No such file or directory, file"
    " path: {pt2}",
    "RuntimeError: fopen failed with errno: 13, file path: {pt2}",
    "RuntimeError: File not found: /tmp/{hex}/data/aotinductor/model/{name}.wrapper.json",
    "RuntimeError: Unable to open file {path}.json",
    "RuntimeError: Failed to find a generated cpp file or so file for model '{name}' in the zip"
    " archive.",
    "RuntimeError: Failed to find wrapper metadata for model '{name}' in the zip archive.",
    "RuntimeError: Model {name} not found in package",
    "ValueError: Model '{name}' not found in PT2 archive contents",
    "RuntimeError: Multiple wrapper shared libraries found in AOTI package for model '{name}':"
    " '{so}'"
    " and '{so}'.",
    "RuntimeError: No device information found.",
    "ValueError: Saved archive version {small} does not match our current archive version {small}.",
    "RuntimeError: Failed to load model: {folder}/{name}.so",
    "RuntimeError: Shared library file is smaller than embedded weights size",
    "RuntimeError: Weights data seems corrupt",
    "RuntimeError: Shared library file cannot be opened",
    "RuntimeError: Failed to open serialized weights file",
)
_MISSING_OPERATORS = forms(
    "RuntimeError: Could not find schema for {op}.",
    "AttributeError: '_OpNamespace' '{name}' object has no attribute '{name}'",
    "AttributeError: The underlying op of 'my{name}.{name}' has no overload name '{name}'",
    "NotImplementedError: Could not run '{op}' with arguments from the 'CUDA' backend.",
    "RuntimeError: {name}, but no fallback function is registered for schema {op}.",
    "RuntimeError: Didn't find kernel to dispatch to for operator '{op}'.",
    "RuntimeError: No such operator {op}",
    "RuntimeError: operator {op} does not exist",
    "RuntimeError: Unknown builtin op: {op}.",
    "RuntimeError: Could not find any implementations for operator {op}",
    "RuntimeError: Missing extern kernel {op}",
    "RuntimeError: No kernel registered for {op}",
    "RuntimeError: Operator {op} is not registered",
    "torch._export.serde.serialize.SerializeError: We failed to resolve torch.ops.{name}.{name}"
    " to an"
    " operator.",
    "RuntimeError: Unable to find a proxy executor to run custom ops. Please check if there is a"
    " json"
    " file",
)
_DEVICE_CONFLICTS = forms(
    "RuntimeError: Expected out tensor to have device {device}, but got {device} instead",
    "RuntimeError: Specified device {device} does not match device of data {device}",
    "RuntimeError: The specified pointer resides on host memory and is not registered with any CUDA"
    " device.",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices,"
    " {device} and {device}! (when checking argument for argument {name} in method wrapper_{name})",
    "RuntimeError: Expected all tensors to be on the same device, but got {name} is on {device},"
    " different from other tensors on {device} (when checking argument in method wrapper_{name})",
    "RuntimeError: Tensor on device {device} is not on the expected device {device}!",
    "RuntimeError: Mixed-device constants are only supported when the secondary device is CPU."
    " Constant '{name}' was compiled for a non-CPU device.",
    "Error: update_constant_buffer: constant '{name}' is on device type 14 but expected device type"
    " {small}",
    "RuntimeError: Incorrect device passed to aoti_runner_cpu",
    "RuntimeError: Unsupported device key found: cuda",
    "RuntimeError: Cannot load AOTInductor package for device 'cuda' because CUDA is not available",
    "AttributeError: module 'torch._C._aoti' has no attribute 'AOTIModelContainerRunnerCuda'",
    "AssertionError: Torch not compiled with CUDA enabled",
    "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
    "ValueError: Pointer argument (at {small}) cannot be accessed from Triton (cpu tensor?)",
    "RuntimeError: Tensor for argument #{small} '{name}' is on CPU, but expected it to be on GPU",
    "RuntimeError: Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor)"
    " should be"
    " the same",
    "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor"
    " ({device})",
    "AssertionError: Tensor device mismatch! Expected: {device}, Got: {device}",
)

# --- errors of the GPU

_HELP = (
    "\nCUDA kernel errors might be asynchronously reported at some other API call, so the"
    " stacktrace"
    " below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile"
    " with"
    " `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
_GPU_ERRORS = forms(
    "torch.AcceleratorError: CUDA error: an illegal memory access was encountered" + _HELP,
    "RuntimeError: CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert' in"
    " https://docs.nvidia.com/ for more information.\nDevice-side assertion tracking was not"
    " enabled"
    " by user.",
    "RuntimeError: CUDA error: {message}\nFor more detailed error information, run with"
    " CUDA_LOG_FILE=stderr",
    "CUDA Error ({cu}:{line}): misaligned address",
    "CUDA runtime error at {cu}:{line}: invalid argument",
    "[W{c10_day} {time}.{nano} CUDAGuardImpl.h:{line}] Warning: CUDA warning: {message} (function"
    " destroyEvent)",
    "Error: CUDA driver error: unspecified launch failure",
    "RuntimeError: HIP error: hipErrorIllegalAddress",
    "RuntimeError: HIP runtime error: invalid device function",
    "[W HIPGuardImpl.h:{line}] Warning: HIP warning: {message}",
    "RuntimeError: XPU error: {message}",
    "Error: L0 runtime error: {hex}",
    "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered",
    "RuntimeError: Triton Error [HIP]:  Code: {index}, Messsage: {message}",
    "cupy.cuda.runtime.CUDARuntimeError: an illegal memory access was encountered",
    "pycuda.driver.LogicError: cuMemcpy failed: CUDA_ERROR_ILLEGAL_ADDRESS",
    "Memory access fault by GPU node-{small} (Agent handle: {address}) on address {address}."
    " Reason:"
    " Page not present or supervisor privilege.",
    "Segmentation fault from GPU at {address}, ctx_id: {small} (CCS) type: 0 (NotPresent), level: 1"
    " (PDE), access: 1 (Write), banned: 1, aborting.",
    "FATAL: Unexpected page fault from GPU at {address}, ctx_id: {small}",
    "CUDA Exception: Warp Illegal Address\n{address} in"
    " {kernel}<<<({index},1,1),({index},1,1)>>> ()",
    "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm("
    " {arguments})`",
    "RuntimeError: cuDNN error: CUDNN_STATUS_MAPPING_ERROR",
    "RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)",
    ":0:rocdevice.cpp:{line}: error : HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent"
    " attempted",
    "NVRM: Xid (PCI:0000:{small}b:00): 31, pid={pid}, name={name}, Ch 00000008, intr 10000000. MMU"
    " Fault: ENGINE GRAPHICS GPC{small} GPCCLIENT_T1_0 faulted @ 0x7f6a_00000000. Fault is of type"
    " FAULT_PDE ACCESS_TYPE_VIRT_READ",
    "NVRM: Xid (PCI:0000:65:00): 13, pid={pid}, name={name}, Graphics SM Warp Exception on (GPC"
    " {small}, TPC {small}, SM {small}): Misaligned Address",
    '"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"',
    "RuntimeError: cuda runtime error ({index}) : out of memory at {cu}:{line}",
    "{host}:{pid}:{pid} [{small}] NCCL WARN Cuda failure {index} 'an illegal memory access was"
    " encountered'",
    "{host}:{pid}:{pid} [{small}] NCCL WARN HIP failure 'an illegal memory access was encountered'",
    "FATAL: kernel `{name}_sm80` is for sm80-sm100, but was built for sm75",
    "THCudaCheck FAIL file={cu} line={line} error={small} : misaligned address",
    "Error: The model did not finish successfully. Error: unspecified launch failure",
)
_KERNEL_LOG = forms(
    "amdgpu 0000:0b:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:{index} vmid:8"
    " pasid:{pid})\n"
    "amdgpu 0000:0b:00.0: amdgpu:  Process {name} pid {pid} thread {name} pid {pid}\n"
    "amdgpu 0000:0b:00.0: amdgpu:   in page starting at address {address} from client {index}",
    "amdgpu 0000:0b:00.0: amdgpu:   in page starting at address {address} from client {index}",
    "NVRM: Xid (PCI:0000:3d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:{small}b:00): 119, pid={pid}, name={name}, {message}",
)
_OUT_OF_MEMORY = forms(
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {gib}. GPU {small} has a total"
    " capacity of {gib}",
    "RuntimeError: HIP out of memory. Tried to allocate {gib} (GPU {small}; {gib} total capacity)",
    "RuntimeError: XPU out of memory. Tried to allocate {gib}.\nGPU {small} has a total capacity",
    "RuntimeError: MPS backend out of memory (MPS allocated: 16.00 GB, max allowed: 18.13 GB)."
    " Tried"
    " to allocate {index} bytes on shared pool.",
    "RuntimeError: [enforce fail at alloc_cpu.cpp:{line}] err == 0. DefaultCPUAllocator: can't"
    " allocate memory: you tried to allocate {size} bytes. Error code 12 (Cannot allocate memory)",
    "  what():  std::bad_alloc",
    "OSError: [Errno 12] Cannot allocate memory",
    "RuntimeError: unable to mmap {size} bytes from file <{path}>: Cannot allocate memory (12)",
    "[{index}.123456] Memory cgroup out of memory: Killed process {pid} ({name})"
    " total-vm:91234567kB",
    "slurmstepd: error: Detected {small} oom_kill event in StepId={pid}.0.",
    "slurmstepd: error: Detected {small} oom_kill events in StepId={pid}.batch.",
    "slurmstepd: error: Detected {small} oom-kill event(s) in step {pid}.batch cgroup.",
    "srun: error: {host}: task {small}: Out Of Memory",
    "      Reason:       OOMKilled",
    "{name}.service: A process of this unit has been killed by the OOM killer.",
    "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
)
_COMPUTE_CAPABILITIES = (
    *forms(
        "{py}:{line}: UserWarning:\n{word} {word} with CUDA capability sm_{index} is not compatible"
        " with the current PyTorch installation.\nThe current PyTorch install supports CUDA"
        " capabilities sm_70 sm_{index} sm_90.",
    ),
    Form(
        "list",
        joined(
            "",
            said(
                "    Found GPU{small} {word} which is of compute capability (CC) {small}.{small}.\n"
            ),
            said("    The following list shows the CCs this version of PyTorch was built for:\n"),
            several("    - {small}.{small} which supports hardware CC >={small}.{small}", 1, 5),
        ),
    ),
)
_SANITIZER = "========= "
_SANITIZERS = forms(
    "\n".join(
        (
            _SANITIZER + "Invalid __global__ read of size {small} bytes",
            _SANITIZER + "    at {kernel}+{address} in {py}:{line}",
            _SANITIZER + "    by thread ({index},0,0) in block ({index},{small},0)",
            _SANITIZER + "    Access to {address} is out of bounds",
            _SANITIZER + "    Saved host backtrace up to driver entry point at kernel launch time",
            _SANITIZER,
        )
    ),
    "\n".join(
        (
            _SANITIZER + "Misaligned __shared__ write of size {small}",
            _SANITIZER + "    at {address} in {cu}:{line}:void {name}<int>(T1*, int)",
            _SANITIZER + "    Address {address} is misaligned",
        )
    ),
    "\n".join(
        (
            _SANITIZER + "Uninitialized __global__ memory read of size {small} bytes",
            _SANITIZER + "    at {kernel}+{address} in {py}:{line}",
            _SANITIZER + "    Address {address}",
        )
    ),
    "\n".join(
        (
            _SANITIZER + "Barrier error detected. Divergent thread(s) in block.",
            _SANITIZER + "    at {kernel}+{address} in {py}:{line}",
        )
    ),
    "\n".join(
        (
            _SANITIZER + "Error: Race reported between Write access at {kernel}+{address} in"
            " {py}:{line}",
            _SANITIZER + "    and Read access at {kernel}+{address} in {py}:{line} [{index}"
            " hazards]",
        )
    ),
    "\n".join(
        (
            _SANITIZER + "ERROR: Potential RAW hazard detected at __shared__ {address} in block"
            " ({index},0,0) :",
            _SANITIZER + "    Write Thread ({index},0,0) at {kernel}+{address} in {py}:{line}",
        )
    ),
    _SANITIZER + "ERROR SUMMARY: 2 errors",
    _SANITIZER + "RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)",
)

# --- failed calls and stacks

_SHIMS = forms(
    "Error: aoti_torch_cpu_mm_out({arguments}) API call failed at {wrapper}, line {line}",
    "RuntimeError: run_func_( container_handle_, input_handles.data(), {arguments}) API call"
    " failed at"
    " {source}, line {line}",
    "[E{c10_day} {time}.{nano} shim_common.cpp:{line}] Exception in aoti_torch: {message}",
    "[{time} {source}:{line}] Exception across libtorch C API boundary: {message}",
    "Error: The model did not finish successfully. Error: {message}",
    "Error: Cannot find constants {name} in constants_map!",
    "RuntimeError: Constant not found: {name}",
    "Error: Expected {name} < {small} but received {small}",
    "Error: Integer modular indexing division by zero",
    "Error: No available models in container!\nterminate called after throwing an instance of"
    " 'std::runtime_error'\n  what():  run_func_( container_handle_, {arguments}) API call failed"
    " at {source}, line {line}",
)
_C10_FRAME = "frame #{small}: {function}({name} const&) + {address} ({address} in {so})"
_C10_STACK = joined(
    "",
    said("Exception raised from {function} at {source}:{line} (most recent call first):\n"),
    several(_C10_FRAME, 1, 5),
    one_of("", "<omitting python frames>\n"),
    several("frame #{index}: <unknown function> + {address} ({address} in {path})", 0, 2),
)
_CPP_STACKS = (
    Form("c10", _C10_STACK),
    Form(
        "captured",
        joined(
            "",
            said("Exception raised from {function} at {source}:{line} (most recent call first):\n"),
            st.just("C++ CapturedTraceback:\n"),
            several("#{small} {function}({name}) from {source}:{line}", 0, 3),
            several("#{index} ?? from {so}:{line}", 0, 2),
        ),
    ),
    *forms(
        "terminate called after throwing an instance of 'c10::{Class}'\n  what():  {message}",
        "terminate called without an active exception",
        "terminate called recursively",
        "libc++abi: terminating due to uncaught exception of type std::{name}: {message}",
        "  what():  {message}",
    ),
)
_GDB_FRAMES = st.one_of(
    said("#{index}  {address} in {function} () at {source}:{line}\n"),
    said("#{index}  {function} ({name}={index}, {name}={address}) from {so}\n"),
    said("#{index}  {address} in {function} ()\n    at {wrapper}:{line}\n"),
)
_NATIVE_STACKS = (
    *forms(
        'Thread {small} "{name}" received signal {signal}, Segmentation fault.',
        "Program terminated with signal {signal}, Aborted.",
    ),
    Form(
        "gdb",
        joined(
            "",
            said('Thread {small} (Thread {address} (LWP {pid}) "{name}"):\n'),
            said("#0  {address} in {function} () at {source}:{line}\n"),
            listed(_GDB_FRAMES, "", 0, 4),
        ),
    ),
    Form(
        "glog",
        joined(
            "",
            said(
                "*** {signal} (@0x0) received by PID {pid} (TID {address}) from PID {small}; stack"
            ),
            st.just(" trace: ***\n"),
            several("    @     {address} {function}", 0, 4),
        ),
    ),
    *forms("*** {signal} received at time={pid} on cpu {small} ***"),
    Form(
        "UCX",
        joined(
            "",
            said("[{host}:{pid}:0:{pid}] Caught signal 11 (Segmentation fault: address not mapped"),
            said(" to object at address {address})\n==== backtrace (tid: {pid}) ====\n"),
            several(" {small}  {so}({mangled}+{address}) [{address}]", 0, 3),
            several(" {small} {address} {function}()  {source}:{line}", 0, 3),
            st.just("=================================\n"),
        ),
    ),
    Form(
        "TVM FFI",
        joined(
            "",
            st.just("!!!!!!! Segfault encountered !!!!!!!\n"),
            several('  File "<unknown>", line 0, in {function}', 0, 3),
        ),
    ),
    Form(
        "AddressSanitizer",
        joined(
            "",
            said("=={pid}==ERROR: AddressSanitizer: heap-buffer-overflow on address {address} at"),
            said(" pc {address} bp {address} sp {address}\nREAD of size {small} at {address}\n"),
            several("    #{small} {address} in {function}({name}*) {source}:{line}:{small}", 0, 3),
            several("    #{index} {address} ({so}+{address}) (BuildId: {hex})", 0, 2),
        ),
    ),
    Form(
        "core dump",
        joined(
            "",
            said("Stack trace of thread {pid}:\n#0  {address} n/a ({name}.so + {address})\n"),
            several("#{index}  {address} {mangled} ({name}.so + {address})", 0, 3),
        ),
    ),
)

# --- how processes end

_FAULTHANDLER = joined(
    "",
    said("Fatal Python error: Segmentation fault\n\n"),
    said('Thread {bits} (most recent call first):\n  File "{py}", line {line} in {name}\n\n'),
    said("Current thread {bits} (most recent call first):\n"),
    several('  File "{py}", line {line} in {name}', 1, 4),
    said("\nExtension modules: numpy, {name} (total: {index})\n"),
)
_PROCESS_DEATHS = (
    Form("faulthandler", _FAULTHANDLER),
    *forms(
        "Segmentation fault (core dumped)",
        "bash: line {small}: {pid} Segmentation fault      (core dumped) python {path}",
        "[1]  + {pid} segmentation fault  python {path}",
        "Aborted (core dumped)",
        "{path}: line {line}:  {pid} Bus error               (core dumped) python",
        "Illegal instruction (core dumped)",
        "Floating point exception (core dumped)",
        "Windows fatal exception: access violation",
        "double free or corruption (!prev)",
        "free(): invalid pointer",
        "malloc(): corrupted top size",
        "malloc_consolidate(): invalid chunk size",
        "munmap_chunk(): invalid pointer",
        "corrupted size vs. prev_size",
        "corrupted double-linked list",
        "realloc(): invalid next size",
        "*** stack smashing detected ***: terminated",
        "*** buffer overflow detected ***: terminated",
        "bash: line {small}: {pid} Killed                  python {path}",
        "[1]  + {pid} killed     python {path}",
        "LLVM ERROR: {message}\nPLEASE submit a bug report to {path} and include the crash\n"
        "Stack dump:\n0.\tProgram arguments: {path}",
    ),
)
_SUPERVISORS = forms(
    "{name}.service: Main process exited, code=dumped, status=11/SEGV",
    "{name}-{small} exited with code 139",
    "      Exit Code:    134",
    '        "ExitCode": 139,',
    "srun: error: {host}: task {small}: Exited with exit code 139",
    "{name}[{pid}]: segfault at 0 ip 00007f3ac1a0c5d2 sp 00007ffd2e0a1c70 error 4 in"
    " {name}.so[7f3a]",
    "traps: {name}[{pid}] general protection fault ip:{index} sp:{index} error:0 in {name}.so",
    "traps: {name}[{pid}] trap invalid opcode ip:{index} sp:{index} error:0 in {name}.so",
    "mpirun noticed that process rank {rank} with PID {pid} on node {host} exited on signal 11"
    " (Segmentation fault).",
    "[{host}:{pid}] Signal: Segmentation fault (11)",
    "RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Segmentation fault.",
    "torch.multiprocessing.spawn.ProcessExitedException: process {rank} terminated with signal"
    " {signal}",
    "fish: Job {small}, 'python {name}.py' terminated by signal {signal} (Address boundary error)",
    "(raylet) A worker died or was killed while executing a task by an unexpected system error.",
    "ray.exceptions.RayActorError: The actor is dead because its worker process has died.",
    "Worker proc VllmWorker-{rank} died unexpectedly, shutting down executor.",
    "Engine core proc EngineCore_DP{rank} died unexpectedly (exit code: -11), shutting down"
    " client.",
    "subprocess.CalledProcessError: Command '['{path}', '{name}']' died with <Signals.SIGSEGV:"
    " 11>.",
    "subprocess.CalledProcessError: Command '{path}' returned non-zero exit status 3221225477.",
    "[{date} {time},999] [ERROR] [launch.py:{line}:sigkill_handler] ['{path}', '-u', '{name}.py']"
    " exits with return code = -11",
    "{date}T{time}.6581234Z ##[error]Process completed with exit code 139.",
    "Process finished with exit code 139 (interrupted by signal 11:SIGSEGV)",
    "Process finished with exit code -1073741819 (0xC0000005)",
    "ERROR: Job failed: exit code 139",
    "Command terminated by signal 11",
    "systemd-coredump[{pid}]: Process {pid} ({name}) of user {index} terminated abnormally with"
    " signal 11/SEGV, processing...",
    "timeout: the monitored command dumped core",
)

# --- collectives

_NCCL = "[rank{rank}]:[E{c10_day} {time}.{nano} ProcessGroupNCCL.cpp:{line}] [Rank {rank}] "
_ELASTIC = joined(
    "",
    said("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"),
    said("============================================================\n{path} FAILED\n"),
    said("------------------------------------------------------------\nFailures:\n"),
    said("  <NO_OTHER_FAILURES>\nRoot Cause (first observed failure):\n[{small}]:\n"),
    said("  time      : {date}_{time}\n  host      : {host}\n"),
    said("  rank      : {rank} (local_rank: {small})\n  exitcode  : -11 (pid: {pid})\n"),
    said("  error_file: <N/A>\n  traceback : Signal 11 ({signal}) received by PID {pid}\n"),
)
_COLLECTIVES = (
    Form("elastic box", _ELASTIC),
    *forms(
        _NCCL + "Watchdog caught collective operation timeout: WorkNCCL(SeqNum={index},"
        " OpType=ALLREDUCE, NumelIn={size}, Timeout(ms)={pid}) ran for {pid} milliseconds before"
        " timing out.",
        _NCCL + "watchdog hang",
        "RuntimeError: [gloo/transport/{source}:{line}] Timed out waiting {pid}ms for recv"
        " operation",
        "torch.distributed.DistStoreError: wait timeout after {pid}ms",
        "RuntimeError: Rank {rank} failed to pass monitoredBarrier in {pid} ms, gloo",
        _NCCL + "Process group watchdog thread terminated with exception: {message}",
        _NCCL + "Some NCCL operations have failed or timed out.",
        _NCCL + "To avoid data inconsistency, we are taking the entire process down.",
        "RuntimeError: NCCL communicator was aborted on rank {rank}.",
        _NCCL + "ProcessGroupNCCL's watchdog got stuck for {index} seconds without making progress",
        _NCCL + "First PG on this rank. Watchdog will timeout and abort in {index} seconds",
        _NCCL + "Received a dump signal due to a collective timeout from this local rank and we",
        _NCCL + "Received a dump signal due to a collective timeout from  rank {rank} and we will",
        _NCCL + "Received a dump signal due to a collective timeout from rank {rank} and we will",
        _NCCL + "Received a timeout signal from this local rank and will start to dump the debug",
        _NCCL + "Received a global timeout from another rank and will start to dump the debug",
        "[W TCPStore.cpp:{line}] TCPStore server has shut down too early",
        "[W socket.cpp:{line}] recvValue failed on SocketImpl(fd={index}, addr={host})",
        "[W socket.cpp:{line}] sendBytes failed on SocketImpl(fd={index}, addr={host})",
        "MPI_ABORT was invoked on rank {rank} in communicator MPI_COMM_WORLD",
        "torch.distributed.DistBackendError: NCCL error in: {source}:{line}, unhandled system"
        " error",
        "RuntimeError: NCCL Error {small}: unhandled cuda error",
        "RuntimeError: oneCCL: {source}:{line} {name}: EXCEPTION: {message}",
        "RuntimeError: Gloo connectFullMesh failed with [{source}:{line}] {message}",
        "RuntimeError: [{source}:{line}] Application timeout caused pair closure, gloo",
        "RuntimeError: Rank {rank} successfully reached monitoredBarrier, but received errors",
        "RuntimeError: [gloo/transport/tcp/pair.cc:{line}] Connection closed by peer [10.0.0.3]",
        "torch.distributed.DistBackendError: Connection reset by peer, c10d",
        "RuntimeError: [c10d] {host} Connection refused",
        "torch.distributed.DistNetworkError: Broken pipe",
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local",
        "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: {message}",
        "RuntimeError: Socket Timeout, TCPStore",
        "RuntimeError: Connection closed by remote peer, c10d",
        "RuntimeError: Detected mismatch between collectives on ranks. Rank {rank} is running"
        " collective: CollectiveFingerPrint(OpType=ALLREDUCE)",
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process {pid} got"
        " signal: 15",
        "E{month_day} {time}.{micro} {pid} torch/distributed/elastic/multiprocessing/api.py:{line}]"
        " failed (exitcode: -11) local_rank: {small} (pid: {pid}) of binary: {path}",
    ),
)

# --- flags

_FLAGS = (
    *forms(
        "$ CUDA_LAUNCH_BLOCKING={small} python {path}",
        "export TORCH_SHOW_CPP_STACKTRACES={small}",
        "setenv TORCH_SYMBOLIZE_MODE fast",
        "  AOTI_RUNTIME_CHECK_INPUTS:  {small}",
        "{'INDUCTOR_PROVENANCE': '{small}'}",
        "ENV TORCHINDUCTOR_NAN_ASSERTS {small}",
        '- name: PYTORCH_NO_CUDA_MEMORY_CACHING\n  value: "{small}"',
        'TORCH_LOGS="+{word},output_code" TORCH_TRACE={folder} python {path}',
        "C:\\> set PYTORCH_USE_CUDA_DSA={small}",
        "AMD_SERIALIZE_KERNEL={small} HIP_LAUNCH_BLOCKING={small} python {path}",
        "+ AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER={small}",
        "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT={kernel} python {path}",
        "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE={small}"
        " CUDA_ENABLE_COREDUMP_ON_EXCEPTION={small} x",
    ),
)

# --- the intermediate value printer

_STATISTICS = (
    "Number of elements: {size}\nDtype: {dtype}\nMean value: {value}\nMin value: {value}\n"
    "Max value: {value}\nDevice: {device}\nSize: {shape}\nStride: {shape}\nLayout: Strided\n"
    "Is contiguous: {small}\nRequires grad: 0\n\n"
)
_VALUES = several(" {value}  {value}", 0, 4)
_PHASE = one_of("before", "after")
_TENSOR = joined(
    "",
    joined("", st.just("[  "), _PHASE, said("_launch - {kernel} - {buffer}  ]:\n")),
    _VALUES,
    said("[ CPUFloatType{{small},{small}} ]\n"),
    said(_STATISTICS),
)
_PRINTERS = (
    Form(
        "names",
        joined(
            "",
            listed(joined("", st.just("[ "), _PHASE, said("_launch: {kernel} ]\n")), "", 1, 6),
        ),
    ),
    Form("tensor", _TENSOR),
    Form(
        "numbers",
        joined(
            "",
            listed(
                joined(
                    "",
                    st.just("[  "),
                    _PHASE,
                    said("_launch - {kernel} - {symbol}: {signed}  ]\\n"),
                ),
                "",
                1,
                3,
            ),
            _TENSOR,
        ),
    ),
    Form("input", joined("", said("[  aoti_model_inputs - {buffer}_1  ]:\n"), said(_STATISTICS))),
    Form(
        "python",
        joined(
            "",
            st.just("inductor: "),
            _PHASE,
            said("_launch - extern_kernels.{name} - {buffer}_1\ntensor([{value}, {value}])\n"),
            said(
                "Number of elements:  {size}\nSize:  torch.Size({shape})\nDtype:  torch.float32\n"
            ),
            said("Mean:  {value}\nMin:  {value}\nMax:  {value}\nStd:  {value}\n"),
        ),
    ),
    Form(
        "complex",
        joined(
            "",
            said("[  after_launch - {kernel} - {buffer}  ]:\nNumber of elements: {size}\n"),
            said("Dtype: c10::complex<float>\nMean value: ({value},{value})\n"),
            said("[INFO] Aten built-in function `min_all_cuda/max_all_cuda` not implemented for"),
            said(" current dtype: c10::complex<float>. Printing out the whole value:\n"),
            _VALUES,
            said("Device: {device}\nSize: {shape}\nStride: {shape}\n\n"),
        ),
    ),
    Form(
        "saved",
        joined(
            "",
            said("aoti_torch_save_tensor_handle: Saved tensor to {folder}/tmp/aoti_torch"),
            _PHASE,
            said("_launch_{kernel}_{buffer}_cpu.pt\n"),
        ),
    ),
)

#: the forms of every format by the `NAME` of the parser that owns it
FORMATS: Mapping[str, tuple[Form, ...]] = {
    "run_record": RUN_RECORDS,
    "torch_trace": TRACES,
    "torch_logs": TORCH_LOGS,
    "python_traceback": _TRACEBACKS,
    "device_assert": _DEVICE_ASSERTS,
    "input_check": _INPUT_CHECKS,
    "index_check": _INDEX_CHECKS,
    "load_error": _LOAD_ERRORS,
    "missing_operator": _MISSING_OPERATORS,
    "nan_check": _NAN_CHECKS,
    "device_conflict": _DEVICE_CONFLICTS,
    "gpu_error": _GPU_ERRORS,
    "kernel_log": _KERNEL_LOG,
    "out_of_memory": _OUT_OF_MEMORY,
    "compute_capability": _COMPUTE_CAPABILITIES,
    "sanitizer": _SANITIZERS,
    "shim": _SHIMS,
    "cpp_stack": _CPP_STACKS,
    "native_stack": _NATIVE_STACKS,
    "process_death": _PROCESS_DEATHS,
    "supervisor": _SUPERVISORS,
    "collective": _COLLECTIVES,
    "flags": _FLAGS,
    "intermediate_printer": _PRINTERS,
}

#: any undamaged record; a run.json is one only where it is the whole file
RECORDS: Words = st.sampled_from(
    [form.text for name, listed_forms in FORMATS.items() for form in listed_forms]
).flatmap(lambda text: text)
