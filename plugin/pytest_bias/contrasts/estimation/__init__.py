"""From the cells of a design to a tested estimate; loaded when an analysis runs (it needs numpy).

``cells`` groups replies by condition, exemplar and item, and says what each weighs; ``fixed`` and
``two_groups`` test them for this very set of stimuli, ``units`` for a population of them;
``tested`` has what all share: the worst case of missing replies, and the units a question lacks.
"""
