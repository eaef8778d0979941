"""From the cells of a design to a tested estimate; loaded when an analysis runs (it needs scipy).

``cells`` groups replies by condition, exemplar and item; ``weights`` says what is compared;
``fixed`` and ``events`` test it for this very set of stimuli, ``units`` for a population of them;
``worst`` does so again with the missing replies at their worst; ``settling`` says how many units
an open question lacks.
"""
