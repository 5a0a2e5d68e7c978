"""Failed compilations: the stage, the type and the innermost reason that a text tells."""

from __future__ import annotations

import pytest

from aoti_logscan.compile_failure import compile_failure, completed, recorded_failure
from aoti_logscan.events import Frame

SITE = "/opt/venv/lib/python3.11/site-packages"


def _frames(*places: str) -> tuple[Frame, ...]:
    pairs = (place.rsplit(" ", 1) for place in places)
    return tuple(Frame(function, f"{SITE}/{file}", 7, "x()") for file, function in pairs)


@pytest.mark.parametrize(
    ("exception", "message", "stage", "named", "reason"),
    [
        (
            "torch._inductor.exc.InductorError",
            "LoweringException: AssertionError: stride must be static\n  target: a.b.default",
            "lowering",
            "LoweringException",
            "stride must be static",
        ),
        (
            "torch._dynamo.exc.BackendCompilerFailed",
            "backend='inductor' raised:\nCppCompileError: C++ compile error\n\nCommand:\ng++ x",
            "cpp-compile",
            "CppCompileError",
            "C++ compile error",
        ),
        (
            "torch._dynamo.exc.BackendCompilerFailed",
            "backend='mine' raised:\nValueError: cannot handle this graph",
            None,
            "torch._dynamo.exc.BackendCompilerFailed",
            "cannot handle this graph",
        ),
        (
            "torch._dynamo.exc.TorchRuntimeError",
            "RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node"
            " with fake tensors: call_method view(*(F(..., size=(3,)), 99), **{}): got"
            " RuntimeError(\"shape '[99]' is invalid for input of size 3\")",
            "dynamo",
            "torch._dynamo.exc.TorchRuntimeError",
            "shape '[99]' is invalid for input of size 3",
        ),
        (
            "torch._dynamo.exc.TorchRuntimeError",
            "Failed running call_function <built-in function matmul>(*(), **{}):\nbad shapes",
            "dynamo",
            "torch._dynamo.exc.TorchRuntimeError",
            "bad shapes",
        ),
        (
            "torch._dynamo.exc.InternalTorchDynamoError",
            "AttributeError: 'NoneType' object has no attribute 'source'",
            "dynamo",
            "torch._dynamo.exc.InternalTorchDynamoError",
            "'NoneType' object has no attribute 'source'",
        ),
        (
            "triton.compiler.errors.CompilationError",
            "at 3:11:\ndef k(x):\n    y = x + z\n            ^\nNameError('z is not defined')",
            "triton-compile",
            "triton.compiler.errors.CompilationError",
            "NameError('z is not defined')",
        ),
        (
            "torch._inductor.exc.InductorError",
            "SubprocException: An exception occurred in a subprocess:\n\nName=triton_red_2\n"
            'Traceback (most recent call last):\n  File "x", line 1, in do_job\n'
            "RuntimeError: PassManager::run failed",
            "triton-compile",
            "SubprocException",
            "PassManager::run failed",
        ),
        (
            "torch._inductor.exc.InductorError",
            "SubprocException: An exception occurred in a subprocess:\n\n"
            'Traceback (most recent call last):\n  File "/v/triton/compiler/compiler.py", line 63,'
            " in __init__\n    assert isinstance(k, tuple)\nAssertionError",
            "triton-compile",
            "SubprocException",
            "AssertionError",
        ),
        (
            "torch._inductor.exc.InductorError",
            "SubprocException: An exception occurred in a subprocess:\n\n"
            "Traceback (most recent call last):\n"
            '  File "/v/torch/_inductor/runtime/compile_tasks.py", line 68, in'
            " _worker_compile_triton\nValueError: no",
            "triton-compile",
            "SubprocException",
            "no",
        ),
        ("torch._inductor.exc.InductorError", "KeyError: 'a'", "lowering", None, "'a'"),
        ("torch._inductor.exc.InductorError", "", "lowering", None, None),
    ],
)
def test_failure_is_told_by_its_own_words(
    exception: str, message: str, stage: str | None, named: str | None, reason: str | None
) -> None:
    failure = compile_failure(exception, message, ())
    assert failure is not None
    told = (failure.stage, failure.exception, failure.message)
    assert told == (stage, named or exception, reason)


@pytest.mark.parametrize(
    ("exception", "places", "stage"),
    [
        ("RuntimeError", ("torch/export/_trace.py _export", "torch/_meta.py meta_mm"), "export"),
        (
            "CalledProcessError",
            ("vllm/core.py __init__", "triton/runtime/build.py _build"),
            "triton-compile",
        ),
        (
            "AssertionError",
            ("torch/_dynamo/output_graph.py call", "torch/_inductor/graph.py run_node"),
            "lowering",
        ),
        (
            "torch._dynamo.exc.Unsupported",
            ("torch/export/_trace.py _export", "torch/_dynamo/symbolic_convert.py step"),
            "export",
        ),
        (
            "torch._dynamo.exc.BackendCompilerFailed",
            ("torch/_functorch/_aot_autograd/graph_compile.py aot_stage2",),
            "aot-autograd",
        ),
    ],
)
def test_frames_tell_the_stage(exception: str, places: tuple[str, ...], stage: str) -> None:
    failure = compile_failure(exception, "no", _frames(*places))
    assert failure is not None
    assert failure.stage == stage


@pytest.mark.parametrize("function", ["_init_handles", "launch_metadata", "run", "__getitem__"])
def test_error_while_a_compiled_kernel_is_loaded_or_launched_is_no_failed_compilation(
    function: str,
) -> None:
    frames = _frames(f"triton/compiler/compiler.py {function}")
    assert compile_failure("RuntimeError", "Triton Error [CUDA]: no", frames) is None


def test_missing_key_keeps_its_type_beside_the_message() -> None:
    message = "backend='mine' raised:\nKeyError: 'no plan'"
    failure = compile_failure("torch._dynamo.exc.BackendCompilerFailed", message, ())
    assert failure is not None
    assert (failure.raised, failure.message) == ("KeyError", "'no plan'")


def test_message_that_only_points_on_gives_way_to_the_reason_it_came_of() -> None:
    exception = "torch._dynamo.exc.FailOnRecompileLimitHit"
    limit = compile_failure(exception, "Hard failure due to fullgraph=True", ())
    assert limit is not None
    earlier = compile_failure("torch._dynamo.exc.Unsupported", "Dynamo recompile limit\n  x", ())
    assert completed(limit, [("", earlier)]).message == "Dynamo recompile limit"
    assert completed(limit, [("", None), ("b::blank: no fake impl", None)]).message == (
        "b::blank: no fake impl"
    )
    assert completed(limit, []) == limit


def test_message_with_a_reason_of_its_own_stays() -> None:
    failure = compile_failure("torch._dynamo.exc.Unsupported", "no such thing", ())
    assert failure is not None
    assert completed(failure, [("other", None)]) == failure


def test_error_while_compiled_code_runs_is_no_compile_failure() -> None:
    places = ("torch/_dynamo/eval_frame.py compile_wrapper", "torch/_inductor/utils.py run")
    assert compile_failure("RuntimeError", "no", _frames(*places)) is None


def test_own_exception_of_an_exported_model_is_no_compile_failure() -> None:
    frames = (*_frames("torch/export/_trace.py _export"), Frame("forward", "/srv/m.py", 3, "raise"))
    assert compile_failure("KeyError", "'bias'", frames) is None


def test_record_and_exception_of_one_failure_have_the_same_headline() -> None:
    told = compile_failure("torch._dynamo.exc.InternalTorchDynamoError", "KeyError: 'a'", ())
    record = recorded_failure("KeyError", "'a'", ())
    assert told is not None
    assert (told.stage, told.headline) == (record.stage, record.headline)


def test_hostile_message_is_read_in_linear_time() -> None:
    for word in ("A" * 300_000, "a." * 150_000, "Error: " * 40_000, "got X(" * 50_000):
        assert compile_failure("torch._inductor.exc.InductorError", word, ()) is not None
