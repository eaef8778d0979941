"""From the cells of a design to a tested estimate; loaded by an analysis, as it needs numpy."""
