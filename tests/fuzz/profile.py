"""How many examples the properties get: few and the same ones in the gate, more on demand.

`AOTI_LOGSCAN_FUZZ=20 pytest tests/fuzz` tries twenty times as many, other ones each time.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_TIMES = int(os.environ.get("AOTI_LOGSCAN_FUZZ", "1"))


def examples(number: int) -> settings:
    """Settings for a property with so many examples in the gate."""
    return settings(
        max_examples=number * _TIMES,
        derandomize=_TIMES == 1,
        deadline=None,
        print_blob=True,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
            HealthCheck.function_scoped_fixture,
        ],
    )
