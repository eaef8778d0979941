"""What the hooks delegate to: one pytest session in one process."""
