"""The published analysis of recommendations: a pool of posts against what was picked of it.

It reads any table of posts, ours or somebody else's, and gives no verdict. Beside it stands a
description that takes trials for units.
"""
