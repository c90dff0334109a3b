"""Commands that watch a run or its nodes."""
