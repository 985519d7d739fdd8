"""The decoder: prompt, filters, search, ranking, and the task that joins them."""
