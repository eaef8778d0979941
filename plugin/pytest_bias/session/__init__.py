"""One pytest session in one process, to which the hooks delegate."""
