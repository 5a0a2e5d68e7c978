"""Report to text and JSON; renderers see the report only."""
