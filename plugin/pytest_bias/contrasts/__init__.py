"""Hypotheses: an estimand on a measure, its margin, claim, target and family, as data.

A hypothesis is declared before any reply exists and costs nothing to declare; its ``analyse``
imports the statistics when it is called.
"""
