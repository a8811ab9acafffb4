"""What a training leaves behind to continue from, and where it is stored."""
