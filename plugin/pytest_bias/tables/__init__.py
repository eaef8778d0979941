"""Tables of replies that others recorded: read, checked as a whole, and taken for trials."""
