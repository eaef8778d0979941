"""CV screening: the name on an application must not move its rating, whatever the scaffold."""
