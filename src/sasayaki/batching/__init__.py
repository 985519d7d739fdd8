"""Many windows side by side: those of one recording that is cut at silences, and those of many recordings."""
