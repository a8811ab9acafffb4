"""What the controller learns from outside, parsed, validated and dated: facts, prices, progress."""
