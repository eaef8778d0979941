"""The plan of a recording, as data: calls, tokens, money, minutes. Calls nothing, needs no key.

What is recorded is counted; what is not is estimated, by the best that is there: the recorded
trials of the same cassette, those of another model's, a dry run of the protocol in memory in which
the experiment's own simulated subject answers, or the opening request alone. Tokens that no
provider counted are characters divided by four.
"""
