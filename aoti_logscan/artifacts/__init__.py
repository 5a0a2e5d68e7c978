"""Files to open rather than to scan: packages and generated code."""
