"""Reports of a run: results as JSON, the terminal section, the HTML page."""
