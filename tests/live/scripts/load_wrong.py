"""Loads a package, by its model's name where one is given."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

package: Any = import_module("torch._inductor.package")
package.load_package(*sys.argv[1:])
