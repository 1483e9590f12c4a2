"""Exact answers by engines that hold more than one machine's memory: one SQL text, and adapters."""
